/// The exceptions that a call could not throw because it throws another one.
///
/// Part: context. Used by: programs, after a call that waits for several things; fork (replaces the list).
#pragma once

#include <ekiden/sys/config.hpp>

#include <exception>
#include <memory>
#include <vector>

namespace ekiden::inline EKIDEN_ABI {

/// Returns the exceptions that the last call of this thread that waited for several things did not throw.
/// Such a call throws its first exception, and the list has the others. The documentation of the call defines
/// their order.
///
/// Returns a copy. Each thread has its own list. The next such call in the same thread replaces the list,
/// even if it throws nothing. A task that the thread runs while it waits may make such a call, too. A call
/// inside a parallel algorithm or inside parallel_invoke() replaces the list only if it throws. Throws
/// std::bad_alloc. Some exceptions are missing if memory was short when they were thrown.
[[nodiscard]] std::vector<std::exception_ptr> suppressed_exceptions();

namespace detail {

using exception_list = std::vector<std::exception_ptr>;

/// Replaces the list of the calling thread. Null means an empty list.
void replace_suppressed(std::unique_ptr<exception_list> list) noexcept;

/// Replaces the list of the calling thread. The list is empty afterwards if there is no memory for the new
/// one.
void replace_suppressed(exception_list list) noexcept;

/// Empties the list of the calling thread and returns the old list. Null if it was empty.
[[nodiscard]] std::unique_ptr<exception_list> take_suppressed() noexcept;

} // namespace detail
} // namespace ekiden::inline EKIDEN_ABI
