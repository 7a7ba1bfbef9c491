/// The engine of a loop_context that any number of threads may run at the same time. The engine has one list
/// of tasks, which one lock guards.
///
/// Part: loop. Used by: loop_context. Private. The page loop.md explains the protocol.
#pragma once

#include <ekiden/execution/detail/task_order.hpp>
#include <ekiden/loop/detail/loop_alarms.hpp>
#include <ekiden/loop/detail/loop_role.hpp>
#include <ekiden/queue/task.hpp>
#include <ekiden/queue/task_list.hpp>
#include <ekiden/sys/atomic.hpp>
#include <ekiden/sys/lock.hpp>
#include <ekiden/sys/parker.hpp>
#include <ekiden/sys/spin.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <mutex>

namespace ekiden::inline EKIDEN_ABI {

/// A slow_lock for short critical sections. A waiting thread spins before it sleeps.
class loop_lock {
public:
    void lock() noexcept {
        if (!lock_.try_lock()
            && !sys::spin_until([this] { return !lock_.is_held() && lock_.try_lock(); }, spin_ns))
            lock_.lock();
    }
    void unlock() noexcept { lock_.unlock(); }

private:
    static constexpr std::uint64_t spin_ns = 2'000; // longer than a locked section, shorter than a sleep

    sys::slow_lock lock_;
};

/// The engine for many threads. All functions except the destructor are thread-safe.
class shared_loop {
public:
    /// `context` identifies the context of this loop.
    explicit shared_loop(context_id context) noexcept;
    /// Waits until other threads have released the lock. No thread may be inside run().
    ~shared_loop();
    shared_loop(const shared_loop&) = delete;
    shared_loop& operator=(const shared_loop&) = delete;

    /// Adds the task and wakes a sleeping thread. If a thread inside run() posts a deferred task, no other
    /// thread is woken at once. A sleeping thread is woken when the posting thread dequeues its next task,
    /// leaves run() or blocks. Returns false if the loop has been closed.
    [[nodiscard]] bool push(task* pushed, task_order order) noexcept;

    /// Runs tasks. Returns the number of tasks that this call has run.
    std::size_t run(const loop_request& request);

    /// Closes the loop and abandons the queued tasks. No thread may be inside run().
    void abandon_all() noexcept;

    /// Announces outstanding work. The loop does not stop for lack of work before work_finished() is called
    /// for this work.
    void work_started() noexcept;
    /// Ends outstanding work. Ends the program if no work is outstanding.
    void work_finished() noexcept;

    void stop() noexcept;
    void restart() noexcept;
    [[nodiscard]] bool is_stopped() const noexcept {
        // [LO1] Acquire: sees what was done before the stop. Pairs with the releases in stop() and halt().
        return stopped_.load(sys::acquire);
    }
    /// Returns whether the loop has stopped for lack of work and has new tasks. Returns true at most once
    /// after each stop.
    [[nodiscard]] bool was_left_stopped() noexcept;

    /// Tells the loop that the next alarm may have become earlier.
    void alarm_moved() noexcept;

    /// Returns whether no thread is inside run(). The result is only a hint.
    [[nodiscard]] bool is_empty() const noexcept { return inside_.load(sys::relaxed) == 0; }
    [[nodiscard]] loop_alarms& alarms() noexcept { return alarms_; }

private:
    class run_scope;
    struct section;
    using lock_guard = std::lock_guard<loop_lock>;
    using unique_lock = std::unique_lock<loop_lock>;

    /// A sleeping thread. The object is on the stack of the sleeping thread.
    struct sleeper {
        sys::parker parker;
        sleeper* next = nullptr;
    };
    static constexpr unsigned all = std::numeric_limits<unsigned>::max();

    [[nodiscard]] task* next(run_scope& here, const loop_request& request) noexcept;
    void leave(run_scope& here) noexcept;
    void announce(unsigned tasks) noexcept;

    // The caller of these functions must own the lock.
    void end_task(run_scope& here) noexcept;
    [[nodiscard]] bool is_out_of_work() const noexcept;
    [[nodiscard]] bool lacks_keeper() const noexcept;
    [[nodiscard]] sleeper* choose(unsigned most) noexcept;
    [[nodiscard]] bool withdraw(const sleeper& self) noexcept;
    [[nodiscard]] sleeper* halt() noexcept;
    void sleep(unique_lock& lock, const loop_request& request) noexcept;

    const context_id context_;
    const std::uint16_t generation_; // the fork generation in which the loop was constructed
    loop_alarms alarms_;
    sys::atomic<unsigned> inside_{0};  // the number of running calls of run()
    sys::atomic<bool> stopped_{false}; // written under the lock

    alignas(sys::isolation) loop_lock lock_; // guards all members below
    bool is_closed_ = false;
    bool has_run_dry_ = false;
    unsigned running_ = 0;        // the number of running tasks
    std::size_t outstanding_ = 0; // the amount of outstanding work
    sleeper* keeper_ = nullptr;   // the thread that sleeps until the next alarm
    sleeper* sleepers_ = nullptr; // the other sleeping threads, newest first
    task_list queue_;
};

} // namespace ekiden::inline EKIDEN_ABI
