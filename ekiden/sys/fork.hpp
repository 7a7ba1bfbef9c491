/// What a process does around fork().
///
/// Part: sys. Used by: pool.
#pragma once

#include <ekiden/sys/config.hpp>

namespace ekiden::inline EKIDEN_ABI::sys {

/// Calls `before` in the parent before each later fork() of this process, then `in_parent` and `in_child` in
/// the two, for the life of the program. Only the forking thread exists in the child. False if the system
/// refused or has no fork.
bool at_fork(void (*before)(), void (*in_parent)(), void (*in_child)()) noexcept;

} // namespace ekiden::inline EKIDEN_ABI::sys
