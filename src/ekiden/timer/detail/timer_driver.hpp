/// Sees to it that the timers of a context fire in time.
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

/// The alarm clock of a context, for the queues of all clocks. If the context cannot ring it, a thread of its
/// own does so, which the first wait starts. Thread-safe.
class timer_driver final : public execution_context::service, public alarm_clock {
public:
    explicit timer_driver(execution_context& owner) noexcept;
    ~timer_driver() override;

    /// From now on. The queue stays until the context's end.
    void add(timer_queue& fresh) noexcept;

    /// There is a thread that rings. Throws std::system_error if the system gives none.
    void start() {
        // relaxed: that there is a thread is all. The end, which joins it, finds it under the lock that
        // start_thread() held.
        if (!is_running_.load(sys::relaxed)) start_thread();
    }

    /// Whether the context calls ring(). It looks at what is due between its tasks, so that nothing that
    /// expires comes before what is queued already.
    [[nodiscard]] bool is_rung_by_context() const noexcept { return is_rung_by_context_; }

    /// Whether the caller is inside of the driver's own thread.
    [[nodiscard]] bool rings_in_this_thread() const noexcept;

    /// Some next_ns() has become earlier.
    void moved() noexcept;

    [[nodiscard]] std::int64_t next_ns() const noexcept override;
    void ring() noexcept override { ring_all(nullptr); }

private:
    // word_     meaning                                          set by
    // awake     the thread looks, or there is none               the thread; moved()
    // asleep    it sleeps until the next alarm, or is about to   the thread
    enum : std::uint32_t { awake, asleep };

    void added() noexcept override;
    void shutdown() noexcept override;
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
    bool* is_gone_ = nullptr; // on the thread's stack
};

} // namespace ekiden::inline EKIDEN_ABI
