/// A clock for measurements that must cost little: the processor's own counter, where it runs evenly and the
/// system trusts it; the steady clock elsewhere. And a thread's own time.
///
/// Part: sys. Used by: observe (the times of a trace, of requests).
#pragma once

#include <ekiden/sys/clock.hpp>

#include <cstdint>

#if defined(__x86_64__) && !defined(EKIDEN_CHECKING)
#include <x86intrin.h>
#endif

namespace ekiden::inline EKIDEN_ABI::sys {

/// Whether ticks(true) may be called: the counter has the same pace on all processors and in their sleep, and
/// the system itself tells the time by it. Asks the processor and the system once. Any thread.
[[nodiscard]] bool has_even_counter() noexcept;

/// Now, in a unit that only the rate of two readings tells. `by_counter` is what has_even_counter() has said,
/// and the same for all readings that are compared. 5 to 10 ns by the counter, 20 by the clock. Not ordered
/// with the memory accesses around it.
[[nodiscard]] inline std::uint64_t ticks(bool by_counter) noexcept {
#if defined(EKIDEN_CHECKING)
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

/// The time that the calling thread has had a processor, in ns; 0 where that cannot be told. A system call.
[[nodiscard]] std::uint64_t this_thread_cpu_ns() noexcept;

} // namespace ekiden::inline EKIDEN_ABI::sys
