/// Reads memory that may not exist any more.
///
/// Part: sys. Used by: async.
#pragma once

#include <ekiden/sys/config.hpp>

#include <cstddef>

namespace ekiden::inline EKIDEN_ABI::sys {

/// Copies `size` bytes from `from` to `to`. Returns false, without an effect on the program, if this process
/// has no readable memory there, or if the system does not allow the call. Other threads may write to the
/// memory at the same time. Then the copy may mix old and new bytes. Async-signal-safe. Preserves errno.
[[nodiscard]] bool copy_if_readable(void* to, const void* from, std::size_t size) noexcept;

} // namespace ekiden::inline EKIDEN_ABI::sys
