/// How long a worker without work looks for some before it sleeps: learnt from the gaps that it has seen.
///
/// Part: pool. Used by: worker.
///
/// To look for as long as a sleep and a wake-up cost is never dearer than twice the best choice (the rule of
/// the rented skis). What a wake-up costs is measured: some microseconds on a bare machine, 50 us where the
/// processor is a virtual one that its host must start again.
#pragma once

#include <ekiden/sys/spin.hpp>

#include <cstdint>

namespace ekiden::inline EKIDEN_ABI {

/// Not thread-safe: a worker has its own. All times are those of sys::now_ns().
class search_time {
public:
    static constexpr std::uint64_t usual_ns = sys::spin_ns;
    static constexpr std::uint64_t longest_ns = 150'000;
    /// So many sleeps in turn that a longer look would have spared make it longer.
    static constexpr unsigned enough = 3;

    /// How long to look. ns
    [[nodiscard]] std::uint64_t ns() const noexcept { return spared_ < enough ? usual_ns : longest_ns; }

    /// The worker looks from now on.
    void begin(std::uint64_t now) noexcept { began_ = now; }

    /// The worker has slept since, somebody with work has woken it at `called`, and it runs `now`. A `called`
    /// from before the look says nothing.
    void end_sleep(std::uint64_t called, std::uint64_t now) noexcept {
        if (called < began_ || now < called) return;
        const std::uint64_t gap = called - began_;
        // Two wake-ups are to be spared: this one, for which the caller may wait, and that of the caller, who
        // waited for the last task. That one is a part of the gap.
        if (gap > longest_ns || gap > 3 * (now - called))
            spared_ = 0;
        else if (spared_ < enough)
            ++spared_;
    }

private:
    std::uint64_t began_ = ~std::uint64_t{0};
    unsigned spared_ = 0;
};

} // namespace ekiden::inline EKIDEN_ABI
