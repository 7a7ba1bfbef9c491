/// The engine of a loop_context that one thread runs: a queue without locks, and one word to sleep on.
///
/// Part: loop. Used by: loop_context. Private. The protocol and its proof: loop.md.
#pragma once

#include <ekiden/execution/detail/event_source.hpp>
#include <ekiden/loop/detail/busy_loops.hpp>
#include <ekiden/loop/detail/loop_alarms.hpp>
#include <ekiden/loop/detail/loop_role.hpp>
#include <ekiden/loop/detail/task_list.hpp>
#include <ekiden/queue/serial_queue.hpp>
#include <ekiden/queue/task.hpp>
#include <ekiden/sys/atomic.hpp>
#include <ekiden/sys/mutant.hpp>

#include <cstddef>
#include <cstdint>

namespace ekiden::inline EKIDEN_ABI {

/// Any thread posts, stops, and begins and ends outstanding work; one thread at a time runs.
class solo_loop {
public:
    /// `context` names it to the threads inside.
    explicit solo_loop(context_id context) noexcept;

    /// Takes the task over. After the task could be run, the call touches nothing of the loop but the
    /// address of a word.
    void push(task* accepted) noexcept {
        // All that was posted before has been taken out of the queue: this may pass it by.
        if (role_scope::find(context_) != nullptr
            && (queue_.is_drained() || EKIDEN_MUTANT(solo_overtakes_others)))
            own_.push(accepted);
        else if (queue_.push(accepted)) [[unlikely]]
            ring(work);
    }

    /// Runs tasks; returns how many. Ends the program if another thread is inside.
    std::size_t run(const loop_request& request);

    /// Drops what is queued. Nobody is inside, and what is pushed meanwhile comes from the dropped tasks.
    void abandon_all() noexcept;

    void work_started() noexcept {
        if (pool_ == nullptr)
            word_.fetch_add(one_work, sys::relaxed);
        else
            work_started_in_pool();
    }
    /// Ends the program if no work is outstanding.
    void work_finished() noexcept;
    void stop() noexcept { ring(stopped); }
    void restart() noexcept {
        has_run_dry_.store(false, sys::relaxed);
        word_.fetch_and(~stopped, sys::relaxed);
    }
    /// No thread is inside: whether the loop has stopped for lack of work, and tasks have come since. Once.
    [[nodiscard]] bool was_left_stopped() noexcept {
        return !queue_.is_drained() && has_run_dry_.exchange(false, sys::relaxed);
    }
    [[nodiscard]] bool is_stopped() const noexcept {
        return (word_.load(sys::acquire) & stopped) != 0; // [LP1]
    }
    /// An alarm has become earlier. Any thread.
    void look_again() noexcept { ring(look); }

    /// See execution_context::service.
    [[nodiscard]] bool reserve_source(const void* kind) noexcept;
    void adopt(event_source& source) noexcept;

    [[nodiscard]] loop_alarms& alarms() noexcept { return alarms_; }
    [[nodiscard]] bool is_empty() const noexcept { return inside_.load(sys::relaxed) == 0; }

    // ---- for loop_pool

    /// The loop is one of a pool, which counts it as busy now. Before any other thread uses the loop. It does
    /// not stop for lack of work then.
    void enter_pool(busy_loops& pool) noexcept {
        pool_ = &pool;
        pool.add();
    }
    /// By the thread that ran the loop, and will run it no more: the loop is never busy again.
    void leave_pool() noexcept;
    /// The thread inside: the type of the task or event that runs, or has run last.
    [[nodiscard]] task::function running_type() const noexcept { return running_type_; }

private:
    class visit;
    class outing;
    class account;

    // word_:
    //   bit 0      asleep: the thread sleeps or is about to; the queue has no consumer   the thread
    //   bit 1      outside: the same, but it waits for events of the source              the thread
    //   bit 2      called: somebody interrupts that wait; the thread stays until then    ring, work_finished
    //   bit 3      work: a task was pushed when there was no consumer                    push
    //   bit 4      look: at the alarms, at the source                                    look_again, adopt
    //   bit 5      stopped                                                               stop, the thread
    //   bit 6      ended: the thread of the pool will not run the loop again             leave_pool
    //   bits 7-31  outstanding work                                                      work_...
    static constexpr std::uint32_t asleep = 1;
    static constexpr std::uint32_t outside = 2;
    static constexpr std::uint32_t called = 4;
    static constexpr std::uint32_t work = 8;
    static constexpr std::uint32_t look = 16;
    static constexpr std::uint32_t stopped = 32;
    static constexpr std::uint32_t ended = 64;
    static constexpr std::uint32_t one_work = 128;

    /// The thread inside: the oldest task, or null if none is ready.
    [[nodiscard]] task* take() noexcept {
        if (task* const found = own_.take()) return found;
        return queue_.take();
    }
    /// The thread inside: whether nothing is queued.
    [[nodiscard]] bool is_drained() const noexcept { return own_.is_empty() && queue_.is_drained(); }
    [[nodiscard]] bool try_rest() noexcept {
        return (own_.is_empty() || EKIDEN_MUTANT(solo_rests_before_its_own)) && queue_.try_rest();
    }
    [[nodiscard]] task* next(const loop_request& request, std::size_t& count);
    [[nodiscard]] task* spin() noexcept;
    bool rest(const loop_request& request) noexcept;
    [[nodiscard]] sys::clock::time_point bedtime_end(const loop_request& request) const noexcept;
    [[nodiscard]] bool is_needed(std::uint32_t& now) noexcept;
    std::uint32_t go_to_rest(std::uint32_t how) noexcept;
    void get_up() noexcept;
    void ring(std::uint32_t why) noexcept;
    void rouse(std::uint32_t seen, bool calls) noexcept;
    void work_started_in_pool() noexcept;
    void execute(task* taken);
    std::size_t run_source(event_source& source, std::size_t most, event_wait* wait);
    void run_events(const loop_request& request, std::size_t& count);
    /// Whether the loop has to go on when nothing is queued.
    [[nodiscard]] bool has_work_elsewhere() const noexcept {
        return pool_ != nullptr || word_.load(sys::relaxed) >= one_work;
    }
    [[nodiscard]] bool has_source() const noexcept { return source_.load(sys::relaxed) != nullptr; }
    /// Whether a thread that has changed the word from `before` has to end a wait outside.
    [[nodiscard]] static bool must_call(std::uint32_t before) noexcept {
        return (before & (outside | called)) == outside;
    }

    /// Whether a loop of a pool has nothing to do when the word is `now`.
    [[nodiscard]] static bool is_quiet(std::uint32_t now) noexcept {
        return (now & ended) != 0 || ((now & (asleep | outside)) != 0 && (now & work) == 0 && now < one_work);
    }

    const context_id context_;
    const std::uint16_t generation_; // of forks
    sys::atomic<std::uint32_t> inside_{0};
    busy_loops* pool_ = nullptr; // of which this is a loop
    task::function running_type_ = nullptr;
    sys::atomic<bool> has_run_dry_{false};
    loop_alarms alarms_;
    sys::atomic<event_source*> source_{nullptr};
    sys::atomic<const void*> kind_of_source_{nullptr};
    bool is_spin_worth_ = true;
    std::uint64_t last_events_ns_ = 0;
    // What the thread inside has posted while the queue was drained: older than all that is in that now.
    task_list own_;
    alignas(sys::isolation) sys::atomic<std::uint32_t> word_{0};
    alignas(sys::isolation) serial_queue queue_;
};

} // namespace ekiden::inline EKIDEN_ABI
