/// A thread of a pool. It finds tasks, runs them, and sleeps when there are none.
///
/// Part: pool. Used by: scheduler. Private.
#pragma once

#include <ekiden/context/held_locks.hpp>
#include <ekiden/context/thread_context.hpp>
#include <ekiden/future/detail/completion.hpp>
#include <ekiden/observe/detail/counter.hpp>
#include <ekiden/observe/detail/histogram.hpp>
#include <ekiden/observe/trace.hpp>
#include <ekiden/pool/detail/scheduler.hpp>
#include <ekiden/queue/chase_lev_deque.hpp>
#include <ekiden/queue/task_batch.hpp>
#include <ekiden/sys/random.hpp>

#include <array>
#include <cstdint>
#include <string_view>

namespace ekiden::inline EKIDEN_ABI {

/// Only the worker's own thread calls its functions, except where the comment says "any thread".
class alignas(sys::isolation) worker final : public thread_role {
public:
    worker(scheduler& pool, unsigned index);

    /// Runs tasks until the pool has stopped and its queues are empty, or until the thread retires.
    void run() noexcept;

    /// Pushes a task that this worker has posted. Throws std::bad_alloc, and then has no effect.
    void push(task* spawned);

    /// Waits until `awaited` is ready. Without a limit, the worker runs other tasks meanwhile, at any depth
    /// of nesting, because there may be no other worker to run them. With a limit, the worker sleeps like a
    /// blocked thread, because it could not abort a running task at the limit.
    bool wait_for(completion& awaited, const wait_limit* limit) noexcept override;

    /// Sleeps until `awaited` is ready, without running other tasks. Reports a circle of such waits.
    [[nodiscard]] bool sleep_for(completion& awaited) noexcept override;

    [[nodiscard]] bool begin_blocking(const char* what) noexcept override;
    void end_blocking() noexcept override;

    /// Records that the running task has queued `given` without waking a worker. announce() wakes one later.
    /// There is no need for it if this worker takes `given` next.
    void owe(const task* given) noexcept {
        ++owed_;
        owed_task_ = given;
    }
    void announce() noexcept override;
    [[nodiscard]] worker* as_worker() noexcept override { return this; }

    [[nodiscard]] scheduler& pool() const noexcept { return pool_; }

    [[nodiscard]] unsigned index() const noexcept { return index_; }

    /// Any thread: returns false if this worker had no queued tasks a moment ago.
    [[nodiscard]] bool maybe_has_tasks() const noexcept {
        return deque_.maybe_filled() || batch_.maybe_filled();
    }
    [[nodiscard]] std::uint64_t spawned() const noexcept { return spawned_.value(); }
    /// Any thread: returns how many tasks have been run or abandoned. Both counts only grow. So a sum that is
    /// read while they change is at most too small.
    [[nodiscard]] std::uint64_t finished() const noexcept { return ran_.value() + abandoned_.value(); }
    void add_to(thread_pool_metrics& sum) const noexcept;

    /// For wait_circles, while this worker waits for a result: the result that it waits for.
    [[nodiscard]] completion& awaited() const noexcept { return *waits_->awaited; }
    /// For wait_circles, like awaited(): returns whether the task of `result` lies on this worker's stack.
    [[nodiscard]] bool runs(const completion& result) const noexcept;
    /// For wait_circles, like awaited(): whether the circle of this wait has been reported.
    [[nodiscard]] bool& is_in_told_circle() const noexcept { return waits_->is_in_told_circle; }
    /// Any thread: returns the type name of the task that runs, or that ran last.
    [[nodiscard]] std::string_view running_type() const noexcept;
    /// Returns the type of that task, or null before the first task.
    [[nodiscard]] task::function running() const noexcept { return running_type_.load(sys::relaxed); }

    bool is_waiting_for_result = false; ///< under the lock of wait_circles

    /// What other threads can see of a worker, also when it is stuck. The members are read one after the
    /// other, so they are not a snapshot.
    struct snapshot {
        enum class state : std::uint8_t {
            busy,
            held, // has a task that waits for resume()
            asleep,
            standing_by,
            gone // there is no thread, or the thread has left the pool
        };
        state is;
        std::uint64_t finished;   ///< how many tasks have been run or abandoned
        task::function task_type; ///< of the task that runs, or that ran last; null: none yet
        const task* awaited;      ///< the result that it waits for; null: none. For comparison only
        task::function awaited_type;
        const char* blocked_on;  ///< what it blocks on; null: it does not block
        const void* wanted_lock; ///< the lock that it may block on, if lock_checks is set
        std::uint64_t since_ns;  ///< when it began to sleep, wait or block

        /// Returns whether it sleeps until that result is ready.
        [[nodiscard]] bool awaits_asleep() const noexcept {
            return is == state::asleep && awaited != nullptr;
        }
        /// Returns the state as a character: see thread_pool::activity().
        [[nodiscard]] char sign() const noexcept;
    };
    /// Any thread, also in a signal handler: returns what the worker does. Takes no lock and allocates
    /// nothing.
    [[nodiscard]] snapshot look() const noexcept;
    /// Shows the state to other threads. The calling thread still owns this place.
    void show(snapshot::state is) noexcept;
    /// Any thread, like look(): returns whether this worker runs the task, or has it on its stack while it
    /// waits.
    [[nodiscard]] bool seems_to_run(const task* one, task::function type) const noexcept;
    [[nodiscard]] bool seems_to_hold(const void* lock) const noexcept { return locks_.has(lock); }

private:
    /// Why a search for tasks ends without a task. In wait_for(), `awaited` is the result. In run(),
    /// `awaited` is null, and `end_of_life` is when a surplus thread retires, or null.
    struct reason_to_return {
        completion* awaited;
        const sys::clock::time_point* end_of_life;
    };

    /// A task on this thread's stack. The task on top runs. The tasks below wait for results.
    struct running_task {
        const task* self = nullptr; // for comparison only: the task may be destroyed
        task::function type = nullptr;
    };
    struct wait_frame {
        completion* awaited;
        running_task waiting;
        const wait_frame* outer;
        mutable bool is_in_told_circle = false; // under the lock of wait_circles
    };

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
    void stop_searching() noexcept;
    [[nodiscard]] bool should_return(const reason_to_return& reason) const noexcept;
    [[nodiscard]] bool must_hold_back(const reason_to_return& reason) const noexcept;
    void park(const reason_to_return& reason) noexcept;
    void sleep(const reason_to_return& reason) noexcept;
    class shown_wait;
    void execute(task* taken, bool is_admitted) noexcept;
    void settle(const task* taken) noexcept;
    [[nodiscard]] bool is_piece(const task* taken) noexcept;
    [[nodiscard]] bool is_stopped() const noexcept;
    [[nodiscard]] bool admit() noexcept;

    static constexpr std::uint32_t fair_turn = 64; // one of so many searches begins with neglected()

    scheduler& pool_;
    const unsigned index_;
    bool has_token_ = false;
    bool is_blocking_ = false;
    std::uint64_t blocked_since_ = trace::detail::nothing; // the begin of the blocked call in a trace
    std::uint32_t turn_ = 0;                               // the number of searches
    std::size_t next_victim_ = 0;                          // from which neglected() steals
    sys::random random_;
    const task* piece_ = nullptr; // taken from a work source, not begun yet
    // The tasks that have been deferred and not announced: their number, and the newest, for comparison only.
    std::uint32_t owed_ = 0;
    const task* owed_task_ = nullptr;
    // Other threads read the members from here on.
    sys::atomic<const task*> running_{nullptr};
    sys::atomic<task::function> running_type_{nullptr};
    // For look(), written on slow paths. Relaxed, except blocked_on_: a reader follows no other pointer.
    sys::atomic<snapshot::state> is_{snapshot::state::busy};
    sys::atomic<const task*> awaited_{nullptr};
    sys::atomic<task::function> awaited_type_{nullptr};
    sys::atomic<const char*> blocked_on_{nullptr}; // the text is kept, because readers may be late
    const char* last_blocked_on_ = "";
    sys::atomic<std::uint64_t> since_ns_{0};
    static constexpr std::size_t most_shown = 8;
    struct shown_task {
        sys::atomic<const task*> self{nullptr};
        sys::atomic<task::function> type{nullptr};
    };
    std::array<shown_task, most_shown> on_stack_{}; // the waiting tasks, outermost first
    std::size_t depth_ = 0;
    detail::shown_locks locks_;
    const wait_frame* waits_ = nullptr;

    chase_lev_deque<task> deque_; // tasks that this worker has posted
    task_batch batch_;            // tasks from outside that this worker has taken
    std::size_t next_ring_ = 0;   // the ring of the next batch

    // On cache lines of their own, because other threads read them.
    alignas(sys::isolation) single_writer_counter spawned_;
    single_writer_counter ran_; // a finished task is counted here or in abandoned_
    single_writer_counter abandoned_;
    single_writer_counter stolen_;
    single_writer_counter injected_;
    single_writer_counter parks_;
    single_writer_counter wakes_;
    histogram delays_;
};

} // namespace ekiden::inline EKIDEN_ABI
