/// Unique numbers, which name things for the life of the process.
///
/// Part: sys. Used by: context (names of contexts).
#pragma once

#include <ekiden/sys/config.hpp>

#include <cstdint>

namespace ekiden::inline EKIDEN_ABI::sys {

/// Returns a number that no earlier call in this process has returned; never 0. Any thread. Orders nothing.
[[nodiscard]] std::uint64_t next_number() noexcept;

} // namespace ekiden::inline EKIDEN_ABI::sys
