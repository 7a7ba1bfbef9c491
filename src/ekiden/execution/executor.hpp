/// The concept of an executor, and functions that pass tasks to any executor.
///
/// Part: execution. Used by: programs, and library code that accepts an executor. Modeled on the executor
/// requirements of the Networking TS (N4771, 13.2.2).
#pragma once

#include <ekiden/execution/detail/sink_access.hpp>
#include <ekiden/execution/execution_context.hpp>
#include <ekiden/execution/task_sink.hpp>
#include <ekiden/queue/task.hpp>

#include <concepts>
#include <exception>
#include <memory>
#include <type_traits>
#include <utility>

namespace ekiden::inline EKIDEN_ABI {

/// A handle of a context that runs functions. The copy constructor of an executor must not throw. Two
/// executors are equal if a program behaves the same with either of them. `dispatch(f, allocator)` may call
/// f() before it returns. `post` and `defer` must not call f() before they return.
template <class E>
concept executor =
    requires(const E& e, void (*f)(), const std::allocator<void>& allocator) {
        { e.context() } -> std::convertible_to<execution_context&>;
        e.on_work_started();
        e.on_work_finished();
        e.dispatch(f, allocator);
        e.post(f, allocator);
        e.defer(f, allocator);
    } && std::is_nothrow_copy_constructible_v<E> && std::is_nothrow_move_constructible_v<E>
    && std::equality_comparable<E>;

namespace detail {
template <class Sink>
void expect_sink(const task_sink<Sink>&); // not defined
} // namespace detail

/// An executor that accepts tasks directly, because it is derived from task_sink. All executors of this
/// library meet this concept.
template <class E>
concept task_executor = executor<E> && requires(const E& e) { detail::expect_sink(e); };

/// Passes a task to any executor, like accept() of a task_sink. If the executor accepts only functions, the
/// task is wrapped in a function. In this case, the result is true, even if the executor never runs the
/// function.
template <executor E>
bool accept_task(const E& e, task* given, task_order order) {
    if constexpr (task_executor<E>) {
        return detail::sink_access::accept(e, given, order);
    } else {
        owned_task owned(given);
        const E kept = e; // the task may destroy the object that contains `e`
        if (order == task_order::deferred)
            kept.defer(std::move(owned), std::allocator<void>());
        else
            kept.post(std::move(owned), std::allocator<void>());
        return true;
    }
}

/// Passes a task to any executor, like continue_with() of a task_sink. Returns a task that the caller must
/// run at once, or null. If the executor accepts only functions, the result is null. An executor that accepts
/// only functions may run the task before continue_task() returns.
template <executor E>
[[nodiscard]] task* continue_task(const E& e, task* given) {
    if constexpr (task_executor<E>) {
        return detail::sink_access::continue_with(e, given);
    } else {
        const E kept = e; // the task may destroy the object that contains `e`
        kept.dispatch(owned_task(given), std::allocator<void>());
        return nullptr;
    }
}

/// Returns whether the caller is inside the context of the executor. Returns false if the executor has no
/// function running_in_this_thread().
template <executor E>
[[nodiscard]] bool running_in_this_thread(const E& e) noexcept {
    if constexpr (requires { e.running_in_this_thread(); })
        return e.running_in_this_thread();
    else
        return false;
}

/// Returns whether the caller may call a function directly, instead of passing it to e.dispatch(). Returns
/// false if the executor accepts only functions, because its dispatch() may do more than call the function.
template <executor E>
[[nodiscard]] bool calls_in_place(const E& e) noexcept {
    if constexpr (task_executor<E>)
        return detail::sink_calls_in_place(e);
    else
        return false;
}

/// Reports the current exception, as if a function that runs on the executor `e` had thrown it.
template <executor E>
void report_unhandled(const E& e, const char* type) noexcept {
    if constexpr (task_executor<E>) {
        e.report_unhandled(type);
    } else {
        try { // the executor handles the exception like an exception of a posted function
            e.post([error = std::current_exception()] { std::rethrow_exception(error); },
                   std::allocator<void>());
        } catch (...) { // the executor refuses the function, so the exception cannot be reported
        }
    }
}

} // namespace ekiden::inline EKIDEN_ABI

// A program that includes the header of any executor also gets future::then(). The include is at the end,
// because then.hpp needs the concept above.
#include <ekiden/execution/then.hpp> // IWYU pragma: export
