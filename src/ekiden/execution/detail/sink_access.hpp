/// Access to the private functions by which executors accept tasks.
///
/// Part: execution. Used by: task_sink, accept_task, continue_task. Private.
#pragma once

#include <ekiden/execution/detail/task_order.hpp>
#include <ekiden/queue/task.hpp>

namespace ekiden::inline EKIDEN_ABI::detail {

/// Calls private functions of executors. Every executor of the library declares this class as a friend. The
/// comment of task_sink describes accept() and continue_with().
struct sink_access {
    template <class Sink>
    static bool accept(const Sink& sink, task* given, task_order order) {
        return sink.accept(given, order);
    }
    template <class Sink>
    [[nodiscard]] static task* continue_with(const Sink& sink, task* given) {
        return sink.continue_with(given);
    }
};

} // namespace ekiden::inline EKIDEN_ABI::detail
