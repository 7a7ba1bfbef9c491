/// How processors of several groups are numbered.
///
/// Part: sys. Used by: the sources of sys for Windows. Private.
#pragma once

#include <ekiden/sys/config.hpp>

namespace ekiden::inline EKIDEN_ABI::sys {

/// The number of a processor is that of its group times this size, plus its place in the group.
inline constexpr int group_size = 64;

} // namespace ekiden::inline EKIDEN_ABI::sys
