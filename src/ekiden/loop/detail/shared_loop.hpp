/// The engine of a loop_context that any number of threads run at once: one list of tasks under one lock.
///
/// Part: loop. Used by: loop_context. Private. The protocol: loop.md.
#pragma once

#include <ekiden/execution/detail/task_order.hpp>
#include <ekiden/loop/detail/loop_alarms.hpp>
#include <ekiden/loop/detail/loop_role.hpp>
#include <ekiden/loop/detail/task_list.hpp>
#include <ekiden/queue/task.hpp>
#include <ekiden/sys/atomic.hpp>
#include <ekiden/sys/lock.hpp>
#include <ekiden/sys/parker.hpp>
#include <ekiden/sys/spin.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <mutex>

namespace ekiden::inline EKIDEN_ABI {

/// A slow_lock for sections of a few steps: a thread spins before it sleeps.
class loop_lock {
public:
    void lock() noexcept {
        if (!lock_.try_lock()
            && !sys::spin_until([this] { return !lock_.is_held() && lock_.try_lock(); }, spin_ns))
            lock_.lock();
    }
    void unlock() noexcept { lock_.unlock(); }

private:
    static constexpr std::uint64_t spin_ns = 2'000; // far more than a section takes; less than a sleep

    sys::slow_lock lock_;
};

/// Thread-safe, except for the destructor.
class shared_loop {
public:
    /// `context` names the loop to the threads inside.
    explicit shared_loop(context_id context) noexcept;
    /// Waits until other threads have left the lock. No thread is inside.
    ~shared_loop();
    shared_loop(const shared_loop&) = delete;
    shared_loop& operator=(const shared_loop&) = delete;

    /// Adds the task and wakes a thread that sleeps. A deferred task of a thread inside wakes no other thread
    /// before that thread takes its next task, leaves or blocks. Returns false if the loop has been closed.
    [[nodiscard]] bool push(task* pushed, task_order order) noexcept;

    /// Runs tasks. Returns how many.
    std::size_t run(const loop_request& request);

    /// Closes the loop and drops the queued tasks. No thread is inside.
    void abandon_all() noexcept;

    /// Begins outstanding work. The loop does not run dry before that has ended.
    void work_started() noexcept;
    /// Ends outstanding work. Ends the program if there is none.
    void work_finished() noexcept;

    void stop() noexcept;
    void restart() noexcept;
    [[nodiscard]] bool is_stopped() const noexcept {
        return stopped_.load(sys::acquire); // [LO1] Acquire: what was done before the stop.
    }
    /// Returns whether the loop has run dry and has tasks now. Returns true once.
    [[nodiscard]] bool was_left_stopped() noexcept;

    /// The next alarm may have become earlier.
    void alarm_moved() noexcept;

    /// Returns whether no thread is inside. A hint.
    [[nodiscard]] bool is_empty() const noexcept { return inside_.load(sys::relaxed) == 0; }
    [[nodiscard]] loop_alarms& alarms() noexcept { return alarms_; }

private:
    class run_scope;
    struct section;
    using lock_guard = std::lock_guard<loop_lock>;
    using unique_lock = std::unique_lock<loop_lock>;

    /// A thread that sleeps. Lies on its stack.
    struct sleeper {
        sys::parker parker;
        sleeper* next = nullptr;
    };
    static constexpr unsigned all = std::numeric_limits<unsigned>::max();

    [[nodiscard]] task* next(run_scope& here, const loop_request& request) noexcept;
    void leave(run_scope& here) noexcept;
    void announce(unsigned tasks) noexcept;

    // The caller of these holds the lock.
    void end_task(run_scope& here) noexcept;
    [[nodiscard]] bool is_out_of_work() const noexcept;
    [[nodiscard]] bool lacks_keeper() const noexcept;
    [[nodiscard]] sleeper* choose(unsigned most) noexcept;
    [[nodiscard]] bool withdraw(const sleeper& self) noexcept;
    [[nodiscard]] sleeper* halt() noexcept;
    void sleep(unique_lock& lock, const loop_request& request) noexcept;

    const context_id context_;
    const std::uint16_t generation_; // of forks
    loop_alarms alarms_;
    sys::atomic<unsigned> inside_{0};  // calls of run()
    sys::atomic<bool> stopped_{false}; // written under the lock

    alignas(sys::isolation) loop_lock lock_; // of all below
    bool is_closed_ = false;
    bool has_run_dry_ = false;
    unsigned running_ = 0;        // tasks that run
    std::size_t outstanding_ = 0; // work
    sleeper* keeper_ = nullptr;   // sleeps until the next alarm
    sleeper* sleepers_ = nullptr; // the others that sleep, newest first
    task_list queue_;
};

} // namespace ekiden::inline EKIDEN_ABI
