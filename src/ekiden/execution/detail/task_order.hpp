/// The position of a new task among the waiting tasks.
///
/// Part: execution. Used by: every context. Private.
#pragma once

#include <ekiden/sys/config.hpp>

#include <cstdint>

namespace ekiden::inline EKIDEN_ABI {

/// The position of a new task among the waiting tasks.
enum class task_order : std::uint8_t {
    usual, ///< the context chooses the position: a worker of a pool runs its own newest task first
    last,  ///< behind the waiting tasks: for a task that yields to other tasks
    /// Like `last`. If the caller works for this context, no other thread is woken for the task before the
    /// current task ends, sleeps or blocks. In a blocking_region, it has no other effect than `last`.
    deferred,
    /// Like `usual`, for a thread that must not wait, such as the thread that fires timers. A full lane
    /// accepts the task beyond its capacity.
    immediate,
};

} // namespace ekiden::inline EKIDEN_ABI
