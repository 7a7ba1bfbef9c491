/// What a process does around fork().
///
/// Part: sys. Used by: queue, future, fork, pool.
///
/// Of the locks inside the library those are held across a fork that new objects in the child need as well:
/// the list of pools, the depot of memory for tasks, and the recorder's list of threads. None is taken while
/// another one is held, so their order does not matter. The locks of one pool are not held: in the child
/// nothing takes them.
#pragma once

#include <ekiden/sys/config.hpp>

#include <cstdint>

namespace ekiden::inline EKIDEN_ABI::sys {

/// Calls `before` in the parent before each later fork() of this process, then `in_parent` and `in_child` in
/// the two, for the life of the program. Only the forking thread exists in the child. False if the system
/// refused or has no fork.
bool at_fork(void (*before)(), void (*in_parent)(), void (*in_child)()) noexcept;

/// Changes in each child. Private: written before the child has a second thread.
extern std::uint16_t fork_generation_here;

/// How many forks deep this process is, counted from the one that the library was started in; 0 where at_fork
/// is refused. What was made in another generation belongs to threads that do not exist here.
[[nodiscard]] inline std::uint16_t fork_generation() noexcept { return fork_generation_here; }

} // namespace ekiden::inline EKIDEN_ABI::sys
