/// The exceptions that a call could not throw, because the call threw another exception.
///
/// Part: context. Used by: programs, fork, async.
#pragma once

#include <ekiden/sys/config.hpp>

#include <exception>
#include <memory>
#include <vector>

namespace ekiden::inline EKIDEN_ABI {

/// Returns the suppressed exceptions of the last call in this thread that waited for several things. If
/// several of these things throw, the call throws the first exception, and suppresses the others. The
/// documentation of the call defines the order of the list.
///
/// Returns a copy of the list. Each thread has its own list. The next call that waits for several things
/// replaces the list of its thread, even if the call does not throw. If a thread runs other tasks while it
/// waits, a call in one of these tasks may also replace the list. A call inside a parallel algorithm or
/// inside parallel_invoke() replaces the list only if it throws. Throws std::bad_alloc. If memory was short
/// when the exceptions were thrown, some exceptions are missing.
[[nodiscard]] std::vector<std::exception_ptr> suppressed_exceptions();

namespace detail {

using exception_list = std::vector<std::exception_ptr>;

/// Replaces the list of the calling thread. Null means an empty list.
void replace_suppressed(std::unique_ptr<exception_list> list) noexcept;

/// Replaces the list of the calling thread. If there is no memory for the new list, the list is empty
/// afterwards.
void replace_suppressed(exception_list list) noexcept;

/// Empties the list of the calling thread, and returns its exceptions. Returns null if the list was empty.
[[nodiscard]] std::unique_ptr<exception_list> take_suppressed() noexcept;

} // namespace detail
} // namespace ekiden::inline EKIDEN_ABI
