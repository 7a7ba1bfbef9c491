/// Runs a task, and records the run in a trace.
///
/// Part: execution. Used by: strands, lanes, pools, loops. Private.
#pragma once

#include <ekiden/observe/trace.hpp>
#include <ekiden/queue/task.hpp>

namespace ekiden::inline EKIDEN_ABI {

namespace detail {
void run_traced(task& next);
} // namespace detail

/// Runs the task. Throws whatever the callable of the task throws.
inline void run_task(task& next) {
    if (!trace::is_on()) [[likely]]
        next.run();
    else
        detail::run_traced(next);
}

} // namespace ekiden::inline EKIDEN_ABI
