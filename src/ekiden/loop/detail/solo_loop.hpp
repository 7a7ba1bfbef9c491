/// The engine of a loop_context that only one thread runs. The engine has a queue without locks, and one word
/// on which the thread sleeps.
///
/// Part: loop. Used by: loop_context, and loop_pool. Private. The page loop.md explains and proves the
/// protocol.
#pragma once

#include <ekiden/execution/detail/event_source.hpp>
#include <ekiden/loop/detail/busy_loops.hpp>
#include <ekiden/loop/detail/loop_alarms.hpp>
#include <ekiden/loop/detail/loop_role.hpp>
#include <ekiden/queue/serial_queue.hpp>
#include <ekiden/queue/task.hpp>
#include <ekiden/queue/task_list.hpp>
#include <ekiden/sys/atomic.hpp>
#include <ekiden/sys/mutant.hpp>

#include <cstddef>
#include <cstdint>

namespace ekiden::inline EKIDEN_ABI {

/// The engine for one thread. Any thread may call push(), stop(), work_started() and work_finished(). Only
/// one thread at a time may call run().
class solo_loop {
public:
    /// `context` identifies the context of this loop.
    explicit solo_loop(context_id context) noexcept;

    /// Adds the task. As soon as the task can run, push() does not access the loop any more. It uses only the
    /// address of a word of the loop.
    void push(task* accepted) noexcept {
        // If the queue is drained, the tasks of all earlier posts have been dequeued. So the order is kept if
        // this task bypasses the queue.
        if (role_scope::find(context_) != nullptr
            && (queue_.is_drained() || EKIDEN_MUTANT(solo_overtakes_others)))
            own_.push(accepted);
        else if (queue_.push(accepted)) [[unlikely]]
            ring(work);
    }

    /// Runs tasks. Returns the number of tasks that this call has run. Ends the program if another thread is
    /// inside run().
    std::size_t run(const loop_request& request);

    /// Abandons the queued tasks. No thread may be inside run(). During this call, only the destructors of
    /// abandoned tasks may call push().
    void abandon_all() noexcept;

    void work_started() noexcept;
    /// Ends outstanding work. Ends the program if no work is outstanding.
    void work_finished() noexcept;
    void stop() noexcept { ring(stopped); }
    void restart() noexcept {
        has_run_dry_.store(false, sys::relaxed);
        word_.fetch_and(~stopped, sys::relaxed);
    }
    /// Returns whether the loop has stopped for lack of work and has new tasks. Returns true at most once
    /// after each stop. No thread may be inside run().
    [[nodiscard]] bool was_left_stopped() noexcept {
        return !queue_.is_drained() && has_run_dry_.exchange(false, sys::relaxed);
    }
    [[nodiscard]] bool is_stopped() const noexcept {
        return (word_.load(sys::acquire) & stopped) != 0; // [LP1]
    }
    /// Tells the loop that the next alarm may have become earlier. Any thread may call look_again().
    void look_again() noexcept { ring(look); }

    /// The comments of execution_context::service describe reserve_source() and adopt().
    [[nodiscard]] bool reserve_source(const void* kind) noexcept;
    void adopt(event_source& source) noexcept;

    [[nodiscard]] loop_alarms& alarms() noexcept { return alarms_; }
    [[nodiscard]] bool is_empty() const noexcept { return inside_.load(sys::relaxed) == 0; }

    // ---- for loop_pool

    /// Makes the loop a part of a pool. The pool counts the loop as busy at first. A loop of a pool does not
    /// stop for lack of work. Call enter_pool() before any other thread uses the loop.
    void enter_pool(busy_loops& pool) noexcept {
        pool_ = &pool;
        pool.add();
    }
    /// Makes the loop quiet forever, so the pool does not count the loop any more. The thread that has run
    /// the loop calls leave_pool() when it will not run the loop again.
    void leave_pool() noexcept;
    /// Returns the type of the task or event that runs now or has run last. Only the thread inside run() may
    /// call running_type().
    [[nodiscard]] task::function running_type() const noexcept { return running_type_; }

private:
    class run_scope;
    class external_wait;

    // word_:
    //   bit       meaning                                                                 set by
    //   asleep    the thread sleeps or is about to sleep; the queue has no consumer       the thread
    //   outside   the thread waits in the event source; the queue has no consumer         the thread
    //   called    another thread interrupts the event source; the thread waits for this   ring, work_finished
    //   work      a task was pushed when the queue had no consumer                        push
    //   look      the thread must check the alarms and the event source                   look_again, adopt
    //   stopped   the loop has stopped                                                    stop, the thread
    //   ended     the thread of the pool will not run the loop again                      leave_pool
    //   the rest  the amount of work that is outstanding                                  work_started
    static constexpr std::uint32_t asleep = 1;
    static constexpr std::uint32_t outside = 2;
    static constexpr std::uint32_t called = 4;
    static constexpr std::uint32_t work = 8;
    static constexpr std::uint32_t look = 16;
    static constexpr std::uint32_t stopped = 32;
    static constexpr std::uint32_t ended = 64;
    static constexpr std::uint32_t one_work = 128;

    template <class After>
    std::uint32_t change(After after) noexcept;
    void ring(std::uint32_t why) noexcept;
    void rouse(std::uint32_t before, bool calls) noexcept;

    // Only the thread inside run() may call these functions.
    [[nodiscard]] task* take() noexcept {
        if (task* const found = own_.take()) return found;
        return queue_.take();
    }
    [[nodiscard]] bool is_drained() const noexcept { return own_.is_empty() && queue_.is_drained(); }
    [[nodiscard]] bool try_rest() noexcept {
        return (own_.is_empty() || EKIDEN_MUTANT(solo_rests_before_its_own)) && queue_.try_rest();
    }
    [[nodiscard]] task* next(const loop_request& request, std::size_t& count);
    [[nodiscard]] task* spin() noexcept;
    bool rest(const loop_request& request) noexcept;
    [[nodiscard]] bool is_needed(std::uint32_t& now) noexcept;
    [[nodiscard]] std::uint32_t go_to_rest(std::uint32_t how) noexcept;
    void get_up() noexcept;
    std::size_t run_source(event_source& source, std::size_t most, event_wait* wait);
    void run_events(const loop_request& request, std::size_t& count);

    /// Returns whether the loop must continue to run although no task is queued.
    [[nodiscard]] bool has_work_elsewhere() const noexcept {
        return pool_ != nullptr || word_.load(sys::relaxed) >= one_work;
    }
    /// Returns whether a thread that changes the word from `before` must interrupt the event source.
    [[nodiscard]] static bool must_call(std::uint32_t before) noexcept {
        return (before & (outside | called)) == outside;
    }
    /// Returns whether a loop of a pool has nothing to do while the word is `now`.
    [[nodiscard]] static bool is_quiet(std::uint32_t now) noexcept {
        return (now & ended) != 0 || ((now & (asleep | outside)) != 0 && (now & work) == 0 && now < one_work);
    }

    const context_id context_;
    const std::uint16_t generation_; // the fork generation in which the loop was constructed
    sys::atomic<std::uint32_t> inside_{0};
    busy_loops* pool_ = nullptr; // null if the loop belongs to no pool
    task::function running_type_ = nullptr;
    sys::atomic<bool> has_run_dry_{false};
    loop_alarms alarms_;
    sys::atomic<event_source*> source_{nullptr};
    sys::atomic<const void*> kind_of_source_{nullptr};
    bool is_spin_worth_ = true;
    std::uint64_t last_events_ns_ = 0;
    // The tasks that the thread inside run() has posted while the queue was drained. These tasks are older
    // than all tasks in the queue.
    task_list own_;
    alignas(sys::isolation) sys::atomic<std::uint32_t> word_{0};
    alignas(sys::isolation) serial_queue queue_;
};

} // namespace ekiden::inline EKIDEN_ABI
