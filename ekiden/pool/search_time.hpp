/// How long a worker without work looks for some before it sleeps: learnt from the gaps that it has seen.
///
/// Part: pool. Used by: worker.
///
/// To look for as long as a sleep and a wake-up cost is never much dearer than the best choice (the rule of
/// the rented skis). What a wake-up costs is measured: some microseconds on a bare machine, 50 us where the
/// processor is a virtual one that its host must start again. Where work comes much later each time, a look
/// is in vain, and is kept short.
#pragma once

#include <ekiden/sys/spin.hpp>

#include <algorithm>
#include <cstdint>

namespace ekiden::inline EKIDEN_ABI {

/// Not thread-safe: a worker has its own. All times are those of sys::now_ns().
class search_time {
public:
    static constexpr std::uint64_t short_ns = 4'000;
    static constexpr std::uint64_t usual_ns = sys::spin_ns;
    /// The longest gap that a long look is for; and the look itself: in some of the gaps a caller has to be
    /// woken.
    static constexpr std::uint64_t long_gap_ns = 64'000;
    static constexpr std::uint64_t long_ns = 2 * long_gap_ns;
    /// So many sleeps in turn that were too short to pay make the look longer, and too long ones shorter.
    static constexpr int enough = 3;

    /// How long to look. ns
    [[nodiscard]] std::uint64_t ns() const noexcept {
        if (looks_long()) return long_ns;
        return trend_ > -enough ? usual_ns : short_ns;
    }
    [[nodiscard]] bool looks_long() const noexcept { return trend_ >= enough; }

    /// The worker looks from now on.
    void begin(std::uint64_t now) noexcept { began_ = now; }

    /// A long look has found something. Two late ones in turn end the long looks, but for the very first one,
    /// which comes after a sleep.
    void end_long_look(std::uint64_t now) noexcept {
        const bool is_late = now - began_ > long_gap_ns;
        if (trend_ == enough)
            ++trend_;
        else if (is_late)
            trend_ = trend_ == enough + 1 ? 0 : enough + 1;
        else
            trend_ = enough + 2;
    }

    /// The worker has slept since, somebody with work has woken it at `called`, and it runs `now`. A `called`
    /// from before the look says nothing.
    void end_sleep(std::uint64_t called, std::uint64_t now) noexcept {
        if (called < began_ || now < called) return;
        // Two wake-ups would have been spared: this one, and that of the caller, who waits for it. A third
        // one may be a part of the gap: that of a caller who has waited for the last task.
        const std::uint64_t wake_up = std::min(now - called, long_gap_ns);
        const std::uint64_t worth = std::max(usual_ns, std::min(2 * wake_up, long_gap_ns));
        if (called - began_ > worth + wake_up)
            trend_ = trend_ > 0 ? 0 : std::max(trend_ - 1, -enough);
        else
            trend_ = trend_ >= enough ? 0 : std::max(trend_, 0) + 1; // a long look in vain was the last one
    }

private:
    std::uint64_t began_ = ~std::uint64_t{0};
    int trend_ = 0;
};

} // namespace ekiden::inline EKIDEN_ABI
