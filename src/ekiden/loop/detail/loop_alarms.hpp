/// The alarm clock of a loop, with functions that check the clock and fire its alarms.
///
/// Part: loop. Used by: solo_loop, and shared_loop. Private.
#pragma once

#include <ekiden/execution/execution_context.hpp>
#include <ekiden/sys/atomic.hpp>
#include <ekiden/sys/clock.hpp>
#include <ekiden/sys/spin.hpp>

#include <chrono>

namespace ekiden::inline EKIDEN_ABI {

/// The alarm clock of one context. The clock exists until the context ends. All members may be called
/// concurrently.
class loop_alarms {
public:
    /// Sets the alarm clock. Returns false if the context has an alarm clock already.
    [[nodiscard]] bool adopt(alarm_clock& clock) noexcept {
        alarm_clock* expected = nullptr;
        // [LO2] Release: publishes the clock. Pairs with the acquire in next().
        return clock_.compare_exchange_strong(expected, &clock, sys::release, sys::relaxed);
    }

    /// Returns the time of the next alarm. Returns time_point::max() if there is no alarm.
    [[nodiscard]] sys::clock::time_point next() const noexcept {
        const alarm_clock* const clock = clock_.load(sys::acquire); // [LO2]
        if (clock == nullptr) return sys::clock::time_point::max();
        return sys::clock::time_point(std::chrono::nanoseconds(clock->next_ns()));
    }

    [[nodiscard]] bool is_set() const noexcept { return next() != sys::clock::time_point::max(); }

    /// Returns whether the next alarm is due within `margin`.
    [[nodiscard]] bool is_due(sys::clock::duration margin = {}) const noexcept {
        const sys::clock::time_point when = next();
        return when != sys::clock::time_point::max() && when - margin <= sys::clock::now();
    }

    /// Returns whether the next alarm is due so soon that a thread should not spin for work.
    [[nodiscard]] bool is_near() const noexcept { return is_due(std::chrono::nanoseconds(2 * sys::spin_ns)); }

    /// Fires the alarms if the next alarm is due. Returns whether an alarm was due.
    bool ring_if_due() noexcept {
        if (!is_due()) return false;
        clock_.load(sys::relaxed)->ring(); // next() has acquired the clock
        return true;
    }

private:
    sys::atomic<alarm_clock*> clock_{nullptr};
};

} // namespace ekiden::inline EKIDEN_ABI
