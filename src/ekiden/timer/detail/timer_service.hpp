/// The timers of one clock, as a service of a context.
///
/// Part: timer. Used by: basic_waitable_timer.
#pragma once

#include <ekiden/context/simulated.hpp>
#include <ekiden/execution/execution_context.hpp>
#include <ekiden/sys/clock.hpp>
#include <ekiden/sys/mutant.hpp>
#include <ekiden/timer/detail/timer_driver.hpp>
#include <ekiden/timer/detail/timer_queue.hpp>

#include <chrono>
#include <cstdint>

namespace ekiden::inline EKIDEN_ABI {

/// The timers of `Clock` in one context. The context has one wheel for each clock. The deadlines in a wheel
/// are times of its clock. Clock::now() must not throw. Thread-safe.
template <class Clock>
class timer_service final : public execution_context::service {
public:
    /// `owner` may be any context. Throws std::bad_alloc.
    explicit timer_service(execution_context& owner)
        : service(owner),
          queue_(use_service<timer_driver>(owner),
                 {&now, sys::is_own_clock<Clock>, is_simulated_clock<Clock>}, context_generation()) {}

    [[nodiscard]] timer_queue& queue() noexcept { return queue_; }

    /// Converts `time` to a time of the queue. A time that is more than 146 years from the clock's epoch is
    /// clamped to that distance.
    template <class Duration>
    [[nodiscard]] static std::uint64_t count(const std::chrono::time_point<Clock, Duration>& time) noexcept {
        return timer_clock::ordered(std::chrono::nanoseconds(sys::bounded(time.time_since_epoch())).count());
    }

private:
    static std::uint64_t now() noexcept {
        if constexpr (sys::is_own_clock<Clock>)
            return timer_clock::ordered(static_cast<std::int64_t>(now_here_ns()));
        else
            return count(now_here<Clock>());
    }

    void added() noexcept override { queue_.driver().add(queue_); }
    void shutdown() noexcept override {
        // Afterwards, no other thread fires timers of the queue. Otherwise, a thread that has taken a state
        // out of the wheel could fire a wait that began later.
        if (!EKIDEN_MUTANT(timer_queue_closes_beside_its_thread)) queue_.driver().shutdown();
        queue_.close();
    }

    timer_queue queue_;
};

} // namespace ekiden::inline EKIDEN_ABI
