/// Counts signals of the system, so that a thread can wait for them.
///
/// Part: sys. Used by: observe.
#pragma once

#include <ekiden/sys/atomic.hpp>
#include <ekiden/sys/config.hpp>

#include <cstdint>

namespace ekiden::inline EKIDEN_ABI::sys {

/// Installs a handler that counts the signals `signal` and wakes all threads that sleep on the count with
/// futex_wait(). The handler stays installed. Returns the count, which is valid until the program ends.
/// Returns null if `signal` is no signal that can be handled, if the program has another handler for it, or
/// if the system has no signals. Any thread may call this function.
[[nodiscard]] const atomic<std::uint32_t>* count_signals(int signal) noexcept;

/// Counts and wakes as if the signal had come. Everything that the caller did before is visible to a thread
/// that sees the new count with acquire order. Any thread may call this function after count_signals().
void wake_for_signal(int signal) noexcept;

} // namespace ekiden::inline EKIDEN_ABI::sys
