/// The alarm clock that a loop drives.
///
/// Part: loop. Used by: solo_loop, shared_loop. Private.
#pragma once

#include <ekiden/execution/execution_context.hpp>
#include <ekiden/sys/atomic.hpp>
#include <ekiden/sys/clock.hpp>
#include <ekiden/sys/spin.hpp>

#include <chrono>
#include <cstdint>
#include <limits>

namespace ekiden::inline EKIDEN_ABI {

/// The alarm clock of one context, which stays until its end. Thread-safe.
class loop_alarms {
public:
    static constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();

    /// False if there is one already.
    [[nodiscard]] bool adopt(alarm_clock& clock) noexcept {
        alarm_clock* expected = nullptr;
        // [LO2] Release: the clock. Pairs with the acquire in next_ns().
        return clock_.compare_exchange_strong(expected, &clock, sys::release, sys::relaxed);
    }

    /// When it rings; never.
    [[nodiscard]] std::int64_t next_ns() const noexcept {
        const alarm_clock* const clock = clock_.load(sys::acquire); // [LO2]
        return clock != nullptr ? clock->next_ns() : never;
    }

    /// Whether it rings so soon that a thread that looks for tasks would be late.
    [[nodiscard]] bool is_near() const noexcept {
        const std::int64_t next = next_ns();
        constexpr auto late = static_cast<std::int64_t>(2 * sys::spin_ns);
        return next != never && next - static_cast<std::int64_t>(sys::now_ns()) < late;
    }

    /// Returns whether the next alarm is due.
    [[nodiscard]] bool is_due() const noexcept {
        const std::int64_t next = next_ns();
        return next != never && next <= static_cast<std::int64_t>(sys::now_ns());
    }

    /// Rings if the next alarm is due. Returns whether it has.
    bool ring_if_due() noexcept {
        if (!is_due()) return false;
        clock_.load(sys::relaxed)->ring(); // next_ns() has acquired it
        return true;
    }

private:
    sys::atomic<alarm_clock*> clock_{nullptr};
};

/// `ns` on the scale of sys::now_ns() as a time of the library's clock.
[[nodiscard]] inline sys::clock::time_point loop_time(std::int64_t ns) noexcept {
    return sys::clock::time_point(std::chrono::nanoseconds(ns));
}

} // namespace ekiden::inline EKIDEN_ABI
