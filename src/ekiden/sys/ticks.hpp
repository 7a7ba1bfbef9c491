/// A cheap clock for measurements, and the processor time of a thread. The clock is the processor's own
/// counter if the counter runs at a constant rate and the system trusts it. Otherwise the clock is the steady
/// clock.
///
/// Part: sys. Used by: observe.
#pragma once

#include <ekiden/sys/clock.hpp>

#include <cstdint>

#if defined(__x86_64__) && !defined(EKIDEN_CHECKING) && !defined(EKIDEN_TIMED)
#include <x86intrin.h>
#endif

namespace ekiden::inline EKIDEN_ABI::sys {

/// Returns true if ticks(true) may be called. The counter must run at the same rate on all processors, even
/// while the processors sleep. The system's own clock must be based on the counter. Queries the processor and
/// the system only at the first call. Thread-safe.
[[nodiscard]] bool has_even_counter() noexcept;

/// Returns the time in an unknown unit. Compare two readings with another clock to find the unit.
/// `by_counter` is the result of has_even_counter(). Readings can only be compared if they were taken with
/// the same `by_counter`. The reading is not ordered with the memory accesses before and after the call.
[[nodiscard]] inline std::uint64_t ticks(bool by_counter) noexcept {
#if defined(EKIDEN_CHECKING) || defined(EKIDEN_TIMED)
    (void)by_counter;
#elif defined(__x86_64__)
    if (by_counter) [[likely]]
        return __rdtsc();
#elif defined(__aarch64__)
    if (by_counter) [[likely]] {
        std::uint64_t now = 0;
        asm volatile("mrs %0, cntvct_el0" : "=r"(now));
        return now;
    }
#else
    (void)by_counter;
#endif
    return now_ns();
}

/// Returns how long the calling thread has run on a processor, in ns. Returns 0 if the time is unknown. Makes
/// a system call.
[[nodiscard]] std::uint64_t this_thread_cpu_ns() noexcept;

} // namespace ekiden::inline EKIDEN_ABI::sys
