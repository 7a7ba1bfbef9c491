/// One thread of a pool: finds a task, runs it, sleeps when there is none.
///
/// Part: pool. Used by: scheduler. Private.
#pragma once

#include <ekiden/future/completion.hpp>
#include <ekiden/observe/counter.hpp>
#include <ekiden/observe/histogram.hpp>
#include <ekiden/pool/scheduler.hpp>
#include <ekiden/queue/chase_lev_deque.hpp>
#include <ekiden/sys/random.hpp>

#include <cstdint>
#include <string_view>
#include <utility>

namespace ekiden::inline EKIDEN_ABI {

/// Its own thread calls everything but the functions marked otherwise.
class alignas(sys::isolation) worker {
public:
    worker(scheduler& pool, unsigned index) : pool_(pool), index_(index), random_(index + 1) {}

    /// The thread's life: runs tasks until the pool stops and nothing is queued.
    void run() noexcept;

    /// A task of this worker's own. Throws std::bad_alloc; then nothing has changed.
    void push(task* spawned);

    /// Runs other tasks until `awaited` is ready (true) or `deadline`, if not null, has passed (false).
    bool wait_for(completion& awaited, const sys::clock::time_point* deadline) noexcept;

    [[nodiscard]] scheduler& pool() const noexcept { return pool_; }

    [[nodiscard]] unsigned index() const noexcept { return index_; }

    /// Its own thread: a blocking_region begins or ends. False if there is one already.
    [[nodiscard]] bool enter_region() noexcept { return !std::exchange(is_in_region_, true); }
    void leave_region() noexcept { is_in_region_ = false; }

    /// Its part in fork-join.
    [[nodiscard]] fork_party& party() noexcept { return party_; }

    /// Any thread.
    [[nodiscard]] bool maybe_has_tasks() const noexcept { return deque_.maybe_filled(); }
    [[nodiscard]] std::uint64_t spawned() const noexcept { return spawned_.value(); }
    [[nodiscard]] std::uint64_t finished() const noexcept { return finished_.value(); }
    void add_to(thread_pool_metrics& sum) const noexcept;

    /// What it waits for, and whether it has that task on its stack. While it waits for a result, and crew
    /// knows.
    [[nodiscard]] completion& awaited() const noexcept { return *waits_->awaited; }
    [[nodiscard]] bool runs(const completion& result) const noexcept;
    /// Any thread: the name of the type of the task that it runs or has run last.
    [[nodiscard]] std::string_view running_type() const noexcept;

private:
    /// What a worker waits for besides tasks; `awaited` is null in the worker's main loop.
    struct reason_to_return {
        completion* awaited;
        const sys::clock::time_point* deadline;
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
    };

    [[nodiscard]] task* next_task(const reason_to_return& reason) noexcept;
    [[nodiscard]] task* find_task() noexcept;
    [[nodiscard]] task* urgent() noexcept;
    [[nodiscard]] task* neglected() noexcept;
    [[nodiscard]] task* injected(priority level) noexcept;
    [[nodiscard]] task* from_outside() noexcept;
    [[nodiscard]] task* held_by_others() noexcept;
    [[nodiscard]] task* stolen() noexcept;
    [[nodiscard]] task* forked() noexcept;
    [[nodiscard]] task* search(const reason_to_return& reason) noexcept;
    void end_search() noexcept;
    void stop_looking() noexcept;
    [[nodiscard]] bool should_return(const reason_to_return& reason) const noexcept;
    void park(const reason_to_return& reason) noexcept;
    void sleep(const reason_to_return& reason) noexcept;
    void execute(task* taken) noexcept;
    [[nodiscard]] bool is_stopped() const noexcept;
    [[nodiscard]] bool admit() noexcept;

    static constexpr std::uint32_t fair_turn =
        64; // one in so many tasks is taken from where others are neglected
    static constexpr unsigned helping_depth = 64; // nested waits that still take tasks from elsewhere

    scheduler& pool_;
    const unsigned index_;
    unsigned depth_ = 0; // of nested waits
    bool has_token_ = false;
    bool is_in_region_ = false;
    std::uint32_t turn_ = 0;
    sys::random random_;
    const task* running_ = nullptr;
    sys::atomic<task::function> running_type_{nullptr}; // read by others
    const wait_frame* waits_ = nullptr;

    /// A child of a fork that this worker takes over, in the form of a task.
    class forked_task final : public task {
    public:
        explicit forked_task(fork_party& party) noexcept : task(&answer), party_(party) {}
        fork_child* taken = nullptr;

    private:
        static const char* answer(task* base, task_request request);
        fork_party& party_;
    };

    chase_lev_deque<task> deque_; // what this worker's tasks have posted
    fork_party party_{pool_.forks()};
    forked_task forked_{party_};

    // What others read, on lines of its own.
    alignas(sys::isolation) single_writer_counter spawned_;
    single_writer_counter finished_;
    single_writer_counter abandoned_;
    single_writer_counter stolen_;
    single_writer_counter injected_;
    single_writer_counter parks_;
    single_writer_counter wakes_;
    histogram delays_;
};

} // namespace ekiden::inline EKIDEN_ABI
