/// Access to the private functions by which executors accept tasks.
///
/// Part: execution. Used by: task_sink, accept_task, continue_task. Private.
#pragma once

#include <ekiden/execution/detail/task_order.hpp>
#include <ekiden/queue/task.hpp>

namespace ekiden::inline EKIDEN_ABI::detail {

/// A friend of every executor of the library. The comment of task_sink describes the two functions.
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
