/// Where a task goes among those that wait.
///
/// Part: execution. Used by: every context that takes tasks.
#pragma once

#include <ekiden/sys/config.hpp>

#include <cstdint>

namespace ekiden::inline EKIDEN_ABI {

/// Where a task goes among those that wait.
enum class task_order : std::uint8_t {
    usual, ///< as the context thinks best: a pool's worker takes its own newest task first
    last,  ///< behind the tasks that wait already: for a task that goes on later to let others through
    /// As `last`, and no other thread is woken for it before the current task ends: the caller works for this
    /// context, and may take it next. Another thread is woken earlier if the caller sleeps or blocks. From
    /// any other thread, and while the caller is in a blocking_region, it is the same as `last`.
    deferred,
    /// As `usual`, from a thread that must not wait, since it does something for others: it fires timers. A
    /// full lane takes the task beyond its capacity.
    immediate,
};

} // namespace ekiden::inline EKIDEN_ABI
