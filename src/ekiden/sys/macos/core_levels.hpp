/// Counts performance cores and efficiency cores.
///
/// Part: sys, on macOS. Used by: sys. Private. Tests call the function.
#pragma once

#include <ekiden/sys/config.hpp>

#include <vector>

namespace ekiden::inline EKIDEN_ABI::sys {

/// Returns the number of usable processors of each performance level, the fastest level first. A Mac with
/// equal processors has one level. The result is empty if the system does not tell.
[[nodiscard]] std::vector<int> core_levels();

} // namespace ekiden::inline EKIDEN_ABI::sys
