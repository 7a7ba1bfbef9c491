/// The length of a sleep with a deadline, for systems that count from the beginning of the sleep.
///
/// Part: sys, on systems without a futex like that of Linux. Used by: the sources of sys for these systems.
/// Private.
#pragma once

#include <ekiden/sys/clock.hpp>

#include <algorithm>
#include <chrono>

namespace ekiden::inline EKIDEN_ABI::sys {

/// Returns the time until `deadline`, but at most a minute. Returns 0 if the deadline has passed. The limit
/// exists because the sleep's clock stops while a Mac is suspended, and the steady clock does not stop there.
/// So a sleep ends at most a minute too late.
[[nodiscard]] inline std::chrono::nanoseconds sleep_length(clock::time_point deadline) noexcept {
    const clock::time_point now = clock::now();
    if (deadline <= now) return std::chrono::nanoseconds::zero();
    return std::min<clock::duration>(deadline - now, std::chrono::minutes(1));
}

} // namespace ekiden::inline EKIDEN_ABI::sys
