/// Looking again and again for a short time, before a sleep.
///
/// Part: sys. Used by: future, pool, fork: whatever waits for another thread.
#pragma once

#include <ekiden/sys/clock.hpp>
#include <ekiden/sys/topology.hpp>

#include <atomic>
#include <cstdint>
#include <new>

namespace ekiden::inline EKIDEN_ABI::sys {

/// How long it pays to look: less than a sleep and a wake-up cost together, and more than a short task takes.
inline constexpr std::uint64_t spin_ns = 20'000;

/// Whether something can happen while this thread looks: not where the process has one processor. No static
/// that one thread initialises while others wait: a fork could come in between.
inline bool spinning_pays() noexcept {
    static constinit std::atomic<unsigned> processors{0}; // 0: not asked yet
    unsigned known = processors.load(std::memory_order_relaxed);
    if (known == 0) {
        try {
            known = usable_concurrency();
        } catch (const std::bad_alloc&) {
            return true; // as nearly everywhere; the next call asks again
        }
        processors.store(known, std::memory_order_relaxed);
    }
    return known > 1;
}

/// Calls `look()` until it returns true, or for `ns`; on a machine with one processor, where nothing can
/// happen meanwhile, once. Returns what the last call did.
template <class Look>
[[nodiscard]] bool spin_until(Look&& look, std::uint64_t ns = spin_ns) {
    if (look()) return true;
    if (!spinning_pays()) return false;
    const std::uint64_t start = now_ns();
    do {
        for (int i = 0; i != 16; ++i) { // the clock costs as much as several looks
            spin_hint();
            if (look()) return true;
        }
    } while (now_ns() - start < ns);
    return false;
}

} // namespace ekiden::inline EKIDEN_ABI::sys
