/// What a process does in the child of fork(), where only the forking thread lives on.
///
/// Part: sys. Used by: pool.
#pragma once

#include <ekiden/sys/config.hpp>

namespace ekiden::inline EKIDEN_ABI::sys {

/// Calls `action` in the child after each later fork() of this process, for the life of the program. Only
/// async-signal-safe work belongs there. False if the system refused or has no fork.
bool at_fork_in_child(void (*action)()) noexcept;

} // namespace ekiden::inline EKIDEN_ABI::sys
