/// Sleep while a 32-bit word holds a value.
///
/// Part: sys. Used by: parker, queue, sync, future, pool.
///
/// On Linux the futex system call; elsewhere a table of condition variables keyed by address. Waits may end
/// spuriously: every caller re-reads its word in a loop. Neither call orders memory; the word's own accesses
/// do.
#pragma once

#include <ekiden/sys/atomic.hpp>
#include <ekiden/sys/clock.hpp>

#include <cstdint>

#if defined(EKIDEN_CHECKING)
#include <check/engine/futex.hpp>
#else

namespace ekiden::inline EKIDEN_ABI::sys {

/// Sleeps if `word` still holds `expected`, until woken. May return at any time (signal, spurious wake-up).
void futex_wait(const atomic<std::uint32_t>& word, std::uint32_t expected) noexcept;

/// As futex_wait, but for at most until `deadline`. False if the deadline had passed, true otherwise.
[[nodiscard]] bool futex_wait_until(const atomic<std::uint32_t>& word, std::uint32_t expected,
                                    clock::time_point deadline) noexcept;

/// Wakes up to `count` threads that sleep on `word`, and returns how many (0 where the system does not tell).
/// The word need not exist any more: only its address is used.
int futex_wake(const atomic<std::uint32_t>& word, int count = 1) noexcept;

/// As futex_wake, for all sleepers.
int futex_wake_all(const atomic<std::uint32_t>& word) noexcept;

} // namespace ekiden::inline EKIDEN_ABI::sys
#endif
