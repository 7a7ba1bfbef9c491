/// Runs a task, and records it in a trace.
///
/// Part: execution. Used by: strands, lanes, and the contexts above. Private.
#pragma once

#include <ekiden/observe/trace.hpp>
#include <ekiden/queue/task.hpp>

namespace ekiden::inline EKIDEN_ABI {

namespace detail {
void run_traced(task& next);
} // namespace detail

/// Runs the task. Exceptions of its callable pass through.
inline void run_task(task& next) {
    if (!trace::is_on()) [[likely]]
        next.run();
    else
        detail::run_traced(next);
}

} // namespace ekiden::inline EKIDEN_ABI
