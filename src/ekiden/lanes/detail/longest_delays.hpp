/// Stores the longest delays of lanes, at most one delay for each key.
///
/// Part: lanes. Used by: lanes.
#pragma once

#include <ekiden/sys/atomic.hpp>
#include <ekiden/sys/lock.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <mutex>
#include <vector>

namespace ekiden::inline EKIDEN_ABI {

/// The longest delays, in descending order. `Delay` has the members `key` and `ns`.
///
/// Thread safety: all members may be called concurrently.
template <class Delay>
class longest_delays {
public:
    /// Records a delay. If note() throws std::bad_alloc, it has no effect.
    void note(const Delay& measured) {
        // Relaxed is enough, because an outdated value does no harm. If the delay has become too short
        // meanwhile, the code below drops the delay.
        if (measured.ns <= too_short_.load(sys::relaxed)) return;
        const std::lock_guard guard(lock_);
        auto known = std::find_if(kept_.begin(), kept_.end(),
                                  [&measured](const Delay& d) { return d.key == measured.key; });
        if (known == kept_.end()) known = kept_.insert(known, measured);
        known->ns = std::max(known->ns, measured.ns);
        std::sort(kept_.begin(), kept_.end(), [](const Delay& a, const Delay& b) { return a.ns > b.ns; });
        if (std::ssize(kept_) < most_kept) return;
        kept_.erase(kept_.begin() + most_kept, kept_.end());
        too_short_.store(kept_.back().ns, sys::relaxed);
    }

    /// Returns a copy of all stored delays. Throws std::bad_alloc.
    [[nodiscard]] std::vector<Delay> all() {
        const std::lock_guard guard(lock_);
        return kept_;
    }

private:
    static constexpr std::ptrdiff_t most_kept = 8;

    sys::slow_lock lock_; // guards the delays
    std::vector<Delay> kept_;
    sys::atomic<std::uint64_t> too_short_{0}; // only delays that are longer than this are stored
};

} // namespace ekiden::inline EKIDEN_ABI
