/// A worker of a pool. A worker finds tasks, runs them, and sleeps when there are no tasks.
///
/// Part: pool. Used by: pool. Private.
#pragma once

#include <ekiden/context/held_locks.hpp>
#include <ekiden/context/thread_context.hpp>
#include <ekiden/future/detail/completion.hpp>
#include <ekiden/observe/detail/counter.hpp>
#include <ekiden/observe/detail/histogram.hpp>
#include <ekiden/observe/trace.hpp>
#include <ekiden/pool/detail/scheduler.hpp>
#include <ekiden/pool/detail/theft_trial.hpp>
#include <ekiden/queue/chase_lev_deque.hpp>
#include <ekiden/queue/task_batch.hpp>
#include <ekiden/sys/random.hpp>

#include <array>
#include <cstdint>
#include <string_view>

namespace ekiden::inline EKIDEN_ABI {

/// A worker. Only the worker's own thread calls the functions of this class, except where the comment of a
/// function says "any thread".
class alignas(sys::isolation) worker final : public thread_role {
public:
    worker(scheduler& pool, unsigned index);

    /// Runs tasks until the pool has stopped and its queues are empty, or until the thread retires.
    void run() noexcept;

    /// Runs a kept task of the stopped pool. Called by the thread that joins the pool, after the thread of
    /// this worker has ended.
    void run_kept(task* kept) noexcept {
        spawned_.add(); // counts the task like a task that this worker has posted
        execute(kept, true);
    }

    /// Pushes a task that this worker has posted. Throws std::bad_alloc. A call that throws has no effect.
    void push(task* spawned);

    /// Waits until `awaited` is ready. If `limit` is null, the worker runs other tasks during the wait,
    /// because there may be no other worker that can run these tasks. These tasks may wait in the same way,
    /// so the waits are nested. If only the reserved part of the stack is left, the worker leaves the tasks
    /// to other workers. If there is a limit, the worker sleeps like a blocked thread, because the worker
    /// could not abort a task that still runs when the limit is reached.
    bool wait_for(completion& awaited, const wait_limit* limit) noexcept override;

    /// Sleeps until `awaited` is ready, without running other tasks. Reports a deadlock if tasks wait for
    /// each other in a circle.
    [[nodiscard]] bool sleep_for(completion& awaited) noexcept override;

    [[nodiscard]] bool begin_blocking(const char* what) noexcept override;
    void end_blocking() noexcept override;

    /// Records that the running task has queued the deferred task `given`, for which no worker was woken. A
    /// later call of announce() wakes a worker. If this worker takes `given` next, no call of announce() is
    /// needed.
    void owe(const task* given) noexcept {
        ++owed_;
        owed_task_ = given;
    }
    void announce() noexcept override;
    [[nodiscard]] worker* as_worker() noexcept override { return this; }

    [[nodiscard]] scheduler& pool() const noexcept { return pool_; }

    [[nodiscard]] unsigned index() const noexcept { return index_; }

    /// Any thread: returns how many queued tasks this worker had a moment ago.
    [[nodiscard]] std::size_t queued() const noexcept { return deque_.size() + batch_.size(); }
    [[nodiscard]] std::uint64_t spawned() const noexcept { return spawned_.value(); }
    /// Any thread: returns how many tasks have been run or abandoned. The result is the sum of two counts,
    /// which only grow. So if a count changes during the call, the result may be too small, but never too
    /// large.
    [[nodiscard]] std::uint64_t finished() const noexcept { return ran_.value() + abandoned_.value(); }
    void add_to(thread_pool_metrics& sum) const noexcept;

    /// Returns the result for which this worker waits. wait_circles calls this function while this worker
    /// waits for a result.
    [[nodiscard]] completion& awaited() const noexcept { return *waits_->awaited; }
    /// Returns whether the task of `result` lies on this worker's stack. Called like awaited().
    [[nodiscard]] bool runs(const completion& result) const noexcept;
    /// Returns a flag that is true if the circle of waits with this worker has been reported. Called like
    /// awaited().
    [[nodiscard]] bool& is_in_told_circle() const noexcept { return waits_->is_in_told_circle; }
    /// Returns how many waits are nested on this worker's stack. Called like awaited().
    [[nodiscard]] std::size_t depth() const noexcept { return depth_; }
    /// Any thread: returns the type name of the current task. If no task is running, returns the type name of
    /// the last task.
    [[nodiscard]] std::string_view running_type() const noexcept;
    /// Returns the type of the current or last task. Returns null if the worker has not run a task yet.
    [[nodiscard]] task::function running() const noexcept { return running_type_.load(sys::relaxed); }

    // The lock of wait_circles protects the next two members.
    bool is_waiting_for_result = false;
    bool is_too_deep = false; ///< this worker waits, and too little of its stack is left to run tasks

    /// The state of a worker. Other threads can read this state even while the worker makes no progress. The
    /// members are read one after the other, so they need not belong to the same moment.
    struct snapshot {
        enum class state : std::uint8_t {
            busy,
            searching, // the worker has found no task, and searches before it sleeps
            held,      // the worker has a task that waits for resume()
            asleep,
            standing_by,
            gone // the worker has no thread, or its thread has left the pool
        };
        state is;
        std::uint64_t finished;   ///< how many tasks have been run or abandoned
        task::function task_type; ///< the type of the current or last task; null before the first task
        const task* awaited;      ///< the awaited result, used only for comparisons; null if there is none
        task::function awaited_type;
        const char* blocked_on;  ///< what the worker blocks on; null if it does not block
        const void* wanted_lock; ///< the lock on which the worker may block, if lock_checks is set
        std::uint64_t since_ns;  ///< the time at which the worker began to sleep, wait or block

        /// Returns whether the worker sleeps until `awaited` is ready.
        [[nodiscard]] bool awaits_asleep() const noexcept {
            return is == state::asleep && awaited != nullptr;
        }
        /// Returns the character for this state: see thread_pool::activity().
        [[nodiscard]] char sign() const noexcept;
    };
    /// Any thread or signal handler: returns what the worker does. Acquires no lock, and allocates no memory.
    [[nodiscard]] snapshot look() const noexcept;
    /// Publishes the state `is` to other threads. The calling thread must still be this worker.
    void show(snapshot::state is) noexcept;
    /// Any thread or signal handler: returns whether the task `one` lies on this worker's stack. The task may
    /// be running or waiting for a result.
    [[nodiscard]] bool seems_to_run(const task* one, task::function type) const noexcept;
    [[nodiscard]] bool seems_to_hold(const void* lock) const noexcept { return locks_.has(lock); }

    /// The largest number of waiting tasks on this worker's stack that other threads can see.
    static constexpr std::size_t most_shown = 8;
    /// A task that has begun and not ended. At each level of the stack, a later task has a higher number.
    struct task_in_progress {
        task::function type;
        std::uint64_t number;
    };
    static constexpr std::size_t most_in_progress = most_shown + 1;
    struct all_in_progress {
        std::array<task_in_progress, most_in_progress> tasks; // not initialized
        std::size_t count;
    };
    /// Any thread: returns the tasks on this worker's stack, beginning with the outermost task. The result is
    /// a hint, because the words are read one after the other.
    [[nodiscard]] all_in_progress in_progress() const noexcept;
    /// Any thread: returns how long every 64th task has waited.
    [[nodiscard]] histogram_snapshot delays() const noexcept { return delays_.snapshot(); }

private:
    /// Says when a worker must end its search for tasks although it has found no task. In wait_for(),
    /// `awaited` is the result for which the worker waits. In run(), `awaited` is null. For a surplus thread,
    /// `end_of_life` is the time at which the thread retires. Otherwise `end_of_life` is null.
    struct reason_to_return {
        completion* awaited;
        const sys::clock::time_point* end_of_life;
    };

    /// A task on the stack of this worker's thread. The task on top of the stack runs. All other tasks on the
    /// stack wait for results.
    struct running_task {
        const task* self = nullptr; // used only for comparisons, because the task may be destroyed
        task::function type = nullptr;
        std::uint64_t number = 0; // see task_in_progress
    };
    struct wait_frame {
        completion* awaited;
        running_task waiting;
        const wait_frame* outer;
        mutable bool is_in_told_circle = false; // the lock of wait_circles protects this member
    };

    [[nodiscard]] std::uint64_t number_of_running() const noexcept;
    [[nodiscard]] task* next_task(const reason_to_return& reason) noexcept;
    [[nodiscard]] task* find(const reason_to_return& reason) noexcept;
    [[nodiscard]] task* find_task() noexcept;
    [[nodiscard]] task* neglected() noexcept;
    [[nodiscard]] task* injected(priority level) noexcept;
    [[nodiscard]] task* from_outside() noexcept;
    [[nodiscard]] task* stolen() noexcept;
    [[nodiscard]] task* stolen_from(worker& victim) noexcept;
    [[nodiscard]] task* note_theft(task* found) noexcept;
    [[nodiscard]] task* from_sources() noexcept;
    [[nodiscard]] bool put_back(task* taken) noexcept;
    [[nodiscard]] task* search(const reason_to_return& reason) noexcept;
    void end_search() noexcept;
    void wake_others() noexcept;
    void stop_searching() noexcept;
    [[nodiscard]] bool should_return(const reason_to_return& reason) const noexcept;
    [[nodiscard]] bool must_hold_back(const reason_to_return& reason) const noexcept;
    void park(const reason_to_return& reason) noexcept;
    void sleep(const reason_to_return& reason) noexcept;
    class shown_wait;
    void wait_in_reserve(completion& awaited) noexcept;
    void sleep_until_stop(completion& awaited, bool is_deep) noexcept;
    void abandon_queued() noexcept;
    void execute(task* taken, bool is_admitted) noexcept;
    void settle(const task* taken) noexcept;
    [[nodiscard]] bool is_piece(const task* taken) noexcept;
    [[nodiscard]] bool is_stopped() const noexcept;
    [[nodiscard]] bool admit() noexcept;

    static constexpr std::uint32_t fair_turn = 64;  // every 64th search begins with neglected()
    static constexpr std::uint32_t theft_turn = 64; // every 64th call of neglected() may steal from a deque
    static constexpr unsigned most_shares = 8;      // a batch has at least an eighth of the tasks of a ring

    scheduler& pool_;
    const unsigned index_;
    bool has_token_ = false;
    bool has_slept_ = false; // this worker has slept for long and has not found a task since
    bool is_blocking_ = false;
    std::uint64_t blocked_since_ = trace::detail::nothing; // The time at which the blocking call began.
    std::uint32_t turn_ = 0;                               // The number of searches that have begun.
    std::size_t next_victim_ = 0; // the last worker whose batch neglected() has searched
    sys::random random_;
    theft_trial trial_;
    const task* piece_ = nullptr; // A task that came from a work source and has not begun yet.
    // The number of deferred tasks that have not been announced, and the newest of these tasks. The pointer
    // to the task is used only for comparisons.
    std::uint32_t owed_ = 0;
    const task* owed_task_ = nullptr;
    // Other threads read the following members.
    sys::atomic<const task*> running_{nullptr};
    sys::atomic<task::function> running_type_{nullptr};
    // look() reads the following members, which are written only on slow paths. All accesses except those to
    // blocked_on_ are relaxed, because blocked_on_ is the only pointer that a reader dereferences.
    sys::atomic<snapshot::state> is_{snapshot::state::busy};
    sys::atomic<const task*> awaited_{nullptr};
    sys::atomic<task::function> awaited_type_{nullptr};
    sys::atomic<const char*> blocked_on_{nullptr}; // The text is never freed: a reader may still use it.
    const char* last_blocked_on_ = "";
    sys::atomic<std::uint64_t> since_ns_{0};
    struct shown_task {
        sys::atomic<const task*> self{nullptr};
        sys::atomic<task::function> type{nullptr};
        sys::atomic<std::uint64_t> number{0};
    };
    std::array<shown_task, most_shown> on_stack_{}; // the tasks that wait, beginning with the outermost task
    std::size_t depth_ = 0;
    // The number of a task is the value of finished() when the task began. While the task waits, other tasks
    // may finish. So the end of a wait stores the number of the waiting task, with the value of finished()
    // for which it is valid.
    static constexpr std::uint64_t no_count = ~std::uint64_t{0};
    sys::atomic<std::uint64_t> resumed_number_{0};
    sys::atomic<std::uint64_t> resumed_at_{no_count};
    detail::shown_locks locks_;
    const wait_frame* waits_ = nullptr;

    chase_lev_deque<task> deque_; // tasks that this worker has posted
    task_batch batch_;            // tasks from outside that this worker has taken
    std::size_t next_ring_ = 0;   // the ring from which the next batch is taken

    // The counters have cache lines of their own, because other threads read them.
    alignas(sys::isolation) single_writer_counter spawned_;
    single_writer_counter ran_; // each finished task is counted either here or in abandoned_
    single_writer_counter abandoned_;
    single_writer_counter stolen_;
    single_writer_counter injected_;
    single_writer_counter parks_;
    single_writer_counter wakes_;
    histogram delays_;
};

} // namespace ekiden::inline EKIDEN_ABI
