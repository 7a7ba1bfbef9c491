/// Functions that let a thread sleep while a 32-bit word has a given value.
///
/// Part: sys. Used by: async, execution, future, loop, observe, pool, sync, timer, and in sys by lock and
/// parker.
///
/// Each system has functions of its own for this purpose. On macOS before 14.4, the functions use a table of
/// condition variables, keyed by address (sys/posix/futex_table.cpp). Waits may return spuriously, so every
/// caller checks its word in a loop. The functions do not order memory accesses. Callers order their accesses
/// by their own operations on the word.
#pragma once

#include <ekiden/sys/atomic.hpp>
#include <ekiden/sys/clock.hpp>

#include <cstdint>

#if defined(EKIDEN_CHECKING)
#include <check/engine/futex.hpp>
#else

namespace ekiden::inline EKIDEN_ABI::sys {

/// If `word` still holds `expected`, sleeps until another thread wakes the caller. The function may return
/// earlier, for example when the thread receives a signal.
void futex_wait(const atomic<std::uint32_t>& word, std::uint32_t expected) noexcept;

/// Sleeps like futex_wait(), but until `deadline` at most. Returns false if the deadline has passed, and true
/// otherwise.
[[nodiscard]] bool futex_wait_until(const atomic<std::uint32_t>& word, std::uint32_t expected,
                                    clock::time_point deadline) noexcept;

/// Wakes up to `count` threads that sleep on `word`. Returns the number of woken threads, or 0 if the system
/// does not report the number. The word may already have been destroyed, because the function uses only the
/// address of the word.
int futex_wake(const atomic<std::uint32_t>& word, int count = 1) noexcept;

/// Wakes all threads that sleep on `word`, like futex_wake().
int futex_wake_all(const atomic<std::uint32_t>& word) noexcept;

} // namespace ekiden::inline EKIDEN_ABI::sys
#endif
