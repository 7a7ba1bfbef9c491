/// Spins for a short time before a sleep.
///
/// Part: sys. Used by: async, fork, future, loop, pool, sync.
#pragma once

#include <ekiden/sys/clock.hpp>
#include <ekiden/sys/topology.hpp>

#include <atomic>
#include <cstdint>
#include <new>

namespace ekiden::inline EKIDEN_ABI::sys {

/// The default duration of a spin, in ns. A spin of this duration takes less time than a sleep with the
/// following wake-up, but more time than a short task.
inline constexpr std::uint64_t spin_ns = 20'000;

/// Returns how many threads can run at once. The number is read from the system only once. Returns 2 if it
/// cannot be read for lack of memory; the next call tries again. The function has no static variable with an
/// initializer, because a fork() could interrupt the initialization.
inline unsigned processors() noexcept {
    static constinit std::atomic<unsigned> known{0}; // 0 means that the number is not known yet
    unsigned found = known.load(std::memory_order_relaxed);
    if (found == 0) {
        try {
            found = usable_concurrency();
        } catch (const std::bad_alloc&) {
            return 2;
        }
        known.store(found, std::memory_order_relaxed);
    }
    return found;
}

/// Returns whether another thread can make progress while the calling thread spins. Returns false if the
/// process has only one processor.
inline bool spinning_pays() noexcept { return processors() > 1; }

/// Calls `look()` until it returns true, or until `ns` nanoseconds have passed. Calls `look()` only once if
/// spinning_pays() is false. Returns the result of the last call of `look()`.
template <class Look>
[[nodiscard]] bool spin_until(Look&& look, std::uint64_t ns = spin_ns) {
    if (look()) return true;
    if (!spinning_pays()) return false;
    // Reading the clock takes as long as several calls of look(), and most waits end within the first calls
    // of look().
    for (std::uint64_t start = 0;;) {
        for (int i = 0; i != 16; ++i) {
            spin_hint();
            if (look()) return true;
        }
        const std::uint64_t now = now_ns();
        if (start == 0)
            start = now;
        else if (now - start >= ns)
            return false;
    }
}

} // namespace ekiden::inline EKIDEN_ABI::sys
