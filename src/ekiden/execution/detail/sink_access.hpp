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

    /// Accepts an operation of a scheduler. Only some executors have this function. The operations of the
    /// schedulers of these executors have a special base class, `Sink::operation_task`.
    template <class Sink, class Operation>
    static auto accept_operation(const Sink& sink, Operation* given)
        -> decltype(sink.accept_operation(given)) {
        return sink.accept_operation(given);
    }
    template <class Sink>
    static auto base_of_operations() -> typename Sink::operation_task*; // not defined

    /// Takes a task that the context of the sink has abandoned or refused, and that must run nevertheless.
    /// The context runs the task later, by run_kept(). Ends the program with a message if the context will
    /// run no more tasks. Only some executors have this function.
    template <class Sink>
    static auto keep(const Sink& sink, task* given) noexcept -> decltype(sink.keep(given)) {
        sink.keep(given);
    }
    /// Calls `f()` for a kept task, which is running. A strand makes the caller count as inside the strand.
    template <class Sink, class F>
    static void run_kept(const Sink& sink, const F& f) {
        if constexpr (requires { sink.run_kept(f); })
            sink.run_kept(f);
        else
            f();
    }
};

/// An executor that runs each accepted or kept task, so the operations of its scheduler cannot fail.
template <class E>
concept keeping_executor = requires(const E& e, task* given) { detail::sink_access::keep(e, given); };

} // namespace ekiden::inline EKIDEN_ABI::detail
