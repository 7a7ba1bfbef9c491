/// One thread of a pool: finds a task, runs it, sleeps when there is none.
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

/// Its own thread calls everything but the functions marked otherwise.
class alignas(sys::isolation) worker final : public thread_role {
public:
    worker(scheduler& pool, unsigned index);

    /// The thread's life: runs tasks until the pool stops and nothing is queued.
    void run() noexcept;

    /// A task of this worker's own. Throws std::bad_alloc; then nothing has changed.
    void push(task* spawned);

    /// The first call of a task that this worker runs, and those that nothing else comes before. Throws what
    /// a call throws.
    [[nodiscard]] repeated_task::end repeat(repeated_task& begun, repeated_task::call call,
                                            const void* callable);

    /// Without a deadline: runs other tasks until `awaited` is ready, at any depth of nesting, since another
    /// worker that could run them may not exist. With one it sleeps, as a blocked thread does: a task that it
    /// ran could not be given up when the time is over.
    bool wait_for(completion& awaited, const wait_limit* limit) noexcept override;

    /// Sleeps until `awaited` is ready. A circle of such waits is found.
    [[nodiscard]] bool sleep_for(completion& awaited) noexcept override;

    [[nodiscard]] bool begin_blocking(const char* what) noexcept override;
    void end_blocking() noexcept override;

    /// The running task has queued `given` without waking another worker. Its end sees to that, unless this
    /// worker takes `given` next; an earlier sleep or end of this worker does, too.
    void owe(const task* given) noexcept {
        ++owed_;
        owed_task_ = given;
    }
    void announce() noexcept override;
    [[nodiscard]] worker* as_worker() noexcept override { return this; }

    [[nodiscard]] scheduler& pool() const noexcept { return pool_; }

    [[nodiscard]] unsigned index() const noexcept { return index_; }

    /// Any thread.
    [[nodiscard]] bool maybe_has_tasks() const noexcept {
        return deque_.maybe_filled() || batch_.maybe_filled();
    }
    [[nodiscard]] std::uint64_t spawned() const noexcept { return spawned_.value(); }
    /// Run or abandoned. Each of the two counts only grows, so a sum that is read while they change may only
    /// fall behind.
    [[nodiscard]] std::uint64_t finished() const noexcept { return ran_.value() + abandoned_.value(); }
    void add_to(thread_pool_metrics& sum) const noexcept;

    /// What it waits for, and whether it has that task on its stack. While it waits for a result, and
    /// wait_circles knows.
    [[nodiscard]] completion& awaited() const noexcept { return *waits_->awaited; }
    [[nodiscard]] bool runs(const completion& result) const noexcept;
    /// Whether the circle that this wait is in has been reported. As awaited().
    [[nodiscard]] bool& is_in_told_circle() const noexcept { return waits_->is_in_told_circle; }
    /// Any thread: the name of the type of the task that it runs or has run last.
    [[nodiscard]] std::string_view running_type() const noexcept;
    /// Its own thread: that type; null before the first task.
    [[nodiscard]] task::function running() const noexcept { return running_type_.load(sys::relaxed); }

    bool is_waiting_for_result = false; ///< under the lock of wait_circles

    /// What others can see of a worker while all is stuck. Its parts are read one after the other.
    struct glance {
        enum class state : std::uint8_t {
            busy,
            held, // has a task that waits for resume()
            asleep,
            standing_by,
            gone // there is no thread, or it does nothing more for the pool
        };
        state is;
        std::uint64_t finished;   ///< tasks
        task::function task_type; ///< of the task that it runs, or has run last; null: none yet
        const task* awaited;      ///< the result that it waits for; null: none. Not to be followed
        task::function awaited_type;
        const char* blocked_on;  ///< null: it does not block
        const void* wanted_lock; ///< that it may block on; where lock_checks is set
        std::uint64_t since_ns;  ///< when it began to sleep, wait or block

        /// Whether it sleeps until that result is there.
        [[nodiscard]] bool awaits_asleep() const noexcept {
            return is == state::asleep && awaited != nullptr;
        }
        /// As a character: see thread_pool::activity().
        [[nodiscard]] char sign() const noexcept;
    };
    /// Any thread, also in a signal handler: takes no lock, allocates nothing.
    [[nodiscard]] glance look() const noexcept;
    /// The thread, as long as no other one can come in its place.
    void show(glance::state is) noexcept;
    /// Any thread, the same way: whether the task of that type is one that this worker runs, or has on its
    /// stack while it waits.
    [[nodiscard]] bool seems_to_run(const task* one, task::function type) const noexcept;
    [[nodiscard]] bool seems_to_hold(const void* lock) const noexcept { return locks_.has(lock); }

private:
    /// What a worker waits for besides tasks: a result, or in its main loop, where `awaited` is null, perhaps
    /// the end of its own life.
    struct reason_to_return {
        completion* awaited;
        const sys::clock::time_point* end_of_life;
    };

    /// What this thread's stack consists of: tasks that wait, and the one that runs on top of them.
    struct running_task {
        const task* self = nullptr; // only to be compared: the task may be gone
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
    [[nodiscard]] bool take_again(const task& given, std::uint64_t number) noexcept;
    [[nodiscard]] task* urgent() noexcept;
    [[nodiscard]] task* neglected() noexcept;
    [[nodiscard]] task* injected(priority level) noexcept;
    [[nodiscard]] task* from_outside() noexcept;
    [[nodiscard]] task* stolen() noexcept;
    [[nodiscard]] task* stolen_from(worker& victim) noexcept;
    [[nodiscard]] task* from_sources() noexcept;
    [[nodiscard]] bool put_back(task* taken) noexcept;
    [[nodiscard]] task* search(const reason_to_return& reason) noexcept;
    void end_search() noexcept;
    void stop_looking() noexcept;
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

    static constexpr std::uint32_t fair_turn =
        64;                                 // one in so many tasks is taken from where others are neglected

    scheduler& pool_;
    const unsigned index_;
    bool has_token_ = false;
    bool is_blocking_ = false;
    std::uint64_t blocked_since_ = trace::detail::nothing; // in a trace
    std::uint32_t turn_ = 0;
    std::size_t next_victim_ = 0; // of a fair turn
    sys::random random_;
    const task* piece_ = nullptr; // taken from a work source, not begun
    // What its tasks have queued and told no other worker: how many, and the newest, only to be compared.
    std::uint32_t owed_ = 0;
    const task* owed_task_ = nullptr;
    // Read by others.
    sys::atomic<const task*> running_{nullptr};
    sys::atomic<task::function> running_type_{nullptr};
    // The same, written on slow paths: for look(). Relaxed, but for the text: nothing else is reached through
    // it.
    sys::atomic<glance::state> is_{glance::state::busy};
    sys::atomic<const task*> awaited_{nullptr};
    sys::atomic<task::function> awaited_type_{nullptr};
    sys::atomic<const char*> blocked_on_{nullptr}; // a kept text: whoever looks may come late
    const char* last_blocked_on_ = "";
    sys::atomic<std::uint64_t> since_ns_{0};
    static constexpr std::size_t most_shown = 8;
    struct shown_task {
        sys::atomic<const task*> self{nullptr};
        sys::atomic<task::function> type{nullptr};
    };
    std::array<shown_task, most_shown> on_stack_{}; // the tasks that wait, the outermost first
    std::size_t depth_ = 0;
    detail::shown_locks locks_;
    const wait_frame* waits_ = nullptr;

    chase_lev_deque<task> deque_; // what this worker's tasks have posted
    task_batch batch_;            // what it has taken from outside
    std::size_t next_ring_ = 0;   // from which it takes the next batch

    // What others read, on lines of its own.
    alignas(sys::isolation) single_writer_counter spawned_;
    single_writer_counter ran_; // and abandoned_: a finished task is counted in one of them
    single_writer_counter abandoned_;
    single_writer_counter stolen_;
    single_writer_counter injected_;
    single_writer_counter parks_;
    single_writer_counter wakes_;
    histogram delays_;
};

} // namespace ekiden::inline EKIDEN_ABI
