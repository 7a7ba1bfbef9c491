/// Handlers that run before and after fork(), and the number of forks.
///
/// Part: sys. Used by: async, execution, flow, fork, future, kafka, lanes, loop, observe, pool, postgres,
/// queue, timer.
///
/// The library holds three of its locks during a fork, because new objects in the child need these locks. The
/// three locks protect the list of pools, the depot of memory for tasks, and the recorder's list of threads.
/// No thread acquires one of the three locks while it holds another one, so the order of the locks does not
/// matter. The library does not hold the locks inside a pool or a service during a fork. The child never
/// acquires such a lock of a pool or a service that existed before the fork, except a process_lock, which is
/// free in the child.
#pragma once

#include <ekiden/sys/config.hpp>

#include <cstdint>

namespace ekiden::inline EKIDEN_ABI::sys {

/// Registers handlers for the life of the program. At each later fork() of this process, `before` runs first,
/// in the parent. After the fork, `in_parent` runs in the parent, and `in_child` runs in the child. Only the
/// forking thread exists in the child. Returns false if the system refuses the handlers or has no fork().
bool at_fork(void (*before)(), void (*in_parent)(), void (*in_child)()) noexcept;

/// The value that fork_generation() returns. Private. The fork handler in each child increments the value,
/// before the child has a second thread.
extern std::uint16_t fork_generation_here;

/// Returns how many forks lie between this process and the process in which the library was started. Returns
/// 0 if the system has refused at_fork(). If an object was created before the last fork, its threads do not
/// exist in this process.
[[nodiscard]] inline std::uint16_t fork_generation() noexcept { return fork_generation_here; }

} // namespace ekiden::inline EKIDEN_ABI::sys
