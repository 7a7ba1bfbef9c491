/// Sleeps while a 32-bit word holds a value.
///
/// Part: sys. Used by: parker, queue, sync, future, pool.
///
/// On Linux, this is the futex system call. On other systems, it is a table of condition variables, keyed by
/// address. Waits may return spuriously, so every caller checks its word in a loop. The functions order no
/// memory accesses. The accesses to the word do.
#pragma once

#include <ekiden/sys/atomic.hpp>
#include <ekiden/sys/clock.hpp>

#include <cstdint>

#if defined(EKIDEN_CHECKING)
#include <check/engine/futex.hpp>
#else

namespace ekiden::inline EKIDEN_ABI::sys {

/// Sleeps until woken if `word` still holds `expected`. May return at any time, for example at a signal.
void futex_wait(const atomic<std::uint32_t>& word, std::uint32_t expected) noexcept;

/// Like futex_wait, but until `deadline` at most. Returns false if the deadline has passed, and true
/// otherwise.
[[nodiscard]] bool futex_wait_until(const atomic<std::uint32_t>& word, std::uint32_t expected,
                                    clock::time_point deadline) noexcept;

/// Wakes up to `count` threads that sleep on `word`. Returns how many, or 0 if the system does not say. The
/// word may have been destroyed: only its address is used.
int futex_wake(const atomic<std::uint32_t>& word, int count = 1) noexcept;

/// Like futex_wake, for all sleepers.
int futex_wake_all(const atomic<std::uint32_t>& word) noexcept;

} // namespace ekiden::inline EKIDEN_ABI::sys
#endif
