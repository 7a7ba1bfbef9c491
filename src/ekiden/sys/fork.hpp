/// Handlers that run before and after fork(), and the number of forks.
///
/// Part: sys. Used by: queue, future, fork, pool.
///
/// Three locks inside the library are held across a fork, because new objects in the child need them as well.
/// They protect the list of pools, the depot of memory for tasks, and the recorder's list of threads. No
/// thread acquires one of these locks while it holds another, so their order does not matter. The locks of
/// one pool are not held, because the child never acquires them.
#pragma once

#include <ekiden/sys/config.hpp>

#include <cstdint>

namespace ekiden::inline EKIDEN_ABI::sys {

/// Registers handlers for the life of the program. At each later fork() of this process, `before` runs in the
/// parent first. Then `in_parent` and `in_child` run in the two processes. Only the forking thread exists in
/// the child. Returns false if the system refused or has no fork.
bool at_fork(void (*before)(), void (*in_parent)(), void (*in_child)()) noexcept;

/// Changes in each child. Private. It is written before the child has a second thread.
extern std::uint16_t fork_generation_here;

/// Returns how many forks lie between this process and the process in which the library was started. 0 if
/// at_fork() was refused. Objects from another generation belong to threads that do not exist in this
/// process.
[[nodiscard]] inline std::uint16_t fork_generation() noexcept { return fork_generation_here; }

} // namespace ekiden::inline EKIDEN_ABI::sys
