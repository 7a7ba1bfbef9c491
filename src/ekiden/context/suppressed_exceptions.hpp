/// The exceptions that a call could not throw because it had thrown another one first.
///
/// Part: context. Used by: programs, after a call that waits for several things; fork (replaces the list).
#pragma once

#include <ekiden/sys/config.hpp>

#include <exception>
#include <memory>
#include <vector>

namespace ekiden::inline EKIDEN_ABI {

/// Returns the exceptions that the last call in this thread that waits for several things has not thrown.
/// Such a call throws its first exception, and the list has the others. Its documentation says in which
/// order.
///
/// Returns a copy. The list of each thread is its own. It lasts until the next such call in the same thread,
/// also if that call throws nothing. Such a call may also come from another task that this thread runs while
/// it waits. A call inside of a parallel algorithm or of parallel_invoke() changes the list only if it
/// throws. Throws std::bad_alloc. If memory was short when the exceptions came, some are missing.
[[nodiscard]] std::vector<std::exception_ptr> suppressed_exceptions();

namespace detail {

using exception_list = std::vector<std::exception_ptr>;

/// Replaces the list of the calling thread. Null is the empty list.
void replace_suppressed(std::unique_ptr<exception_list> list) noexcept;

/// Replaces the list of the calling thread. Leaves it empty if there is no memory for the new one.
void replace_suppressed(exception_list list) noexcept;

/// Empties the list of the calling thread and returns what was in it; null if nothing was.
[[nodiscard]] std::unique_ptr<exception_list> take_suppressed() noexcept;

} // namespace detail
} // namespace ekiden::inline EKIDEN_ABI
