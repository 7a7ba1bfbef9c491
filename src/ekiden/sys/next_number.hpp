/// Numbers that are unique for the life of the process.
///
/// Part: sys. Used by: context.
#pragma once

#include <ekiden/sys/config.hpp>

#include <cstdint>

namespace ekiden::inline EKIDEN_ABI::sys {

/// Returns a number that no earlier call in this process has returned. The number is never 0. Thread-safe.
/// Orders nothing.
[[nodiscard]] std::uint64_t next_number() noexcept;

} // namespace ekiden::inline EKIDEN_ABI::sys
