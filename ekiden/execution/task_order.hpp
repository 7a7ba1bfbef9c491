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
    /// As `last`, and no other thread is woken for it: the caller works for this context, and will come to
    /// it. From any other thread it is the same as `last`.
    deferred,
};

} // namespace ekiden::inline EKIDEN_ABI
