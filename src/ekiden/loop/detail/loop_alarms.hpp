/// The alarm clock that a loop drives, and how often a busy thread looks at them.
///
/// Part: loop. Used by: solo_loop, shared_loop. Private.
#pragma once

#include <ekiden/execution/execution_context.hpp>
#include <ekiden/sys/atomic.hpp>
#include <ekiden/sys/clock.hpp>
#include <ekiden/sys/spin.hpp>

#include <algorithm>
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

    /// Whether there is one. A hint: a clock that has just been adopted has no alarm yet.
    [[nodiscard]] bool any() const noexcept { return clock_.load(sys::relaxed) != nullptr; }

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

/// When a thread that runs one task after the other looks at the clock: after 64 tasks; sooner if the last
/// ones took so long that 100 us would pass before that. One thread's own.
class loop_ticks {
public:
    /// After each task: whether it is time to look.
    [[nodiscard]] bool is_time() noexcept { return --left_ == 0; }

    /// After a look. What the clock says now.
    std::uint64_t begin() noexcept {
        const std::uint64_t now = sys::now_ns();
        const std::uint64_t passed = std::max<std::uint64_t>(now - last_ns_, 1);
        last_ns_ = now;
        // As many as would have fitted into 100 us, but at most twice as many: the next ones may be longer.
        const std::uint64_t fit = length_ * longest_ns / passed;
        length_ = static_cast<unsigned>(std::clamp<std::uint64_t>(fit, 1, std::min(2 * length_, most)));
        left_ = length_;
        return now;
    }
    /// After a sleep.
    void begin_anew() noexcept {
        length_ = left_ = 1;
        last_ns_ = sys::now_ns();
    }

private:
    static constexpr unsigned most = 64;
    static constexpr std::uint64_t longest_ns = 100'000;

    unsigned left_ = 1;
    unsigned length_ = 1;
    std::uint64_t last_ns_ = 0;
};

/// `ns` on the scale of sys::now_ns() as a time of the library's clock.
[[nodiscard]] inline sys::clock::time_point loop_time(std::int64_t ns) noexcept {
    return sys::clock::time_point(std::chrono::nanoseconds(ns));
}

} // namespace ekiden::inline EKIDEN_ABI
