/// The position of a new task among the waiting tasks.
///
/// Part: execution. Used by: every context. Private.
#pragma once

#include <ekiden/sys/config.hpp>

#include <cstdint>

namespace ekiden::inline EKIDEN_ABI {

/// The position of a new task among the waiting tasks.
enum class task_order : std::uint8_t {
    usual, ///< The context chooses the position. A worker of a pool runs its newest task first.
    last,  ///< The task is queued behind the waiting tasks, so that these tasks run first.
    /// Like `last`. If the caller is a thread of this context, no other thread is woken for the task before
    /// the caller's current task returns, sleeps or blocks. In a blocking_region, `deferred` has the same
    /// effect as `last`.
    deferred,
    /// Like `usual`, but the post must not wait. A thread that fires timers uses this order, for example. A
    /// full lane accepts such a task beyond its capacity.
    immediate,
};

} // namespace ekiden::inline EKIDEN_ABI
