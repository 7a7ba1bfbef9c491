/// Fires the timers of a context at their deadlines.
///
/// Part: timer. Used by: timer_service, timer_queue.
#pragma once

#include <ekiden/execution/execution_context.hpp>
#include <ekiden/sys/atomic.hpp>
#include <ekiden/sys/lock.hpp>
#include <ekiden/sys/thread.hpp>

#include <cstdint>

namespace ekiden::inline EKIDEN_ABI {

class timer_queue;

/// The alarm clock of a context. The driver serves the timer queues of all clocks of the context. If the
/// context cannot fire timers itself, the driver uses a thread of its own. This thread starts at the first
/// wait. Thread-safe.
class timer_driver final : public execution_context::service, public alarm_clock {
public:
    explicit timer_driver(execution_context& owner) noexcept;
    ~timer_driver() override;

    /// Adds a queue. The queue must exist until the context ends.
    void add(timer_queue& fresh) noexcept;

    /// Ensures that some thread fires the timers. Throws std::system_error if the system refuses to start a
    /// thread.
    void start() {
        // Relaxed is enough, because the caller only needs to know that the thread exists. shutdown() reads
        // `thread_` under the lock that start_thread() holds.
        if (!is_running_.load(sys::relaxed)) start_thread();
    }

    /// Returns whether the context itself calls ring(). A context that calls ring() checks its timers between
    /// tasks. So the handler of an expired timer never runs before tasks that were queued earlier.
    [[nodiscard]] bool is_rung_by_context() const noexcept { return is_rung_by_context_; }

    /// Ends the driver's own thread, if there is one, and waits until it has ended. If the calling thread is
    /// the driver's own thread, this thread ends later, and accesses no queue any more. Further calls have no
    /// effect.
    void shutdown() noexcept override;

    /// Tells the driver that the next alarm of a queue has become earlier.
    void moved() noexcept;

    [[nodiscard]] std::int64_t next_ns() const noexcept override;
    void ring() noexcept override { ring_all(nullptr); }

private:
    // word_     meaning                                                       set by
    // awake     the thread checks its timers, or does not exist               set by the thread, or by wake()
    // asleep    the thread sleeps until the next alarm, or will sleep soon    set by the thread
    enum : std::uint32_t { awake, asleep };

    void added() noexcept override;
    [[nodiscard]] bool rings_in_this_thread() const noexcept;
    void start_thread();
    void run() noexcept;
    void sleep() noexcept;
    void wake() noexcept;
    void ring_all(const bool* is_gone) noexcept;

    bool is_rung_by_context_ = false;
    sys::atomic<bool> is_running_{false};
    sys::atomic<bool> is_closed_{false};
    sys::atomic<timer_queue*> newest_{nullptr};
    sys::atomic<std::uint32_t> word_{awake};
    sys::slow_lock starting_;
    sys::thread thread_;
    bool* is_gone_ = nullptr; // points to a variable on the stack of the driver's thread
};

} // namespace ekiden::inline EKIDEN_ABI
