/// What an executor is, and how tasks go to any of them.
///
/// Part: execution. Used by: programs, everything that takes an executor. After the executor requirements of
/// the Networking TS (N4771, 13.2.2).
#pragma once

#include <ekiden/execution/execution_context.hpp>
#include <ekiden/execution/task_sink.hpp>
#include <ekiden/queue/task.hpp>

#include <concepts>
#include <exception>
#include <memory>
#include <type_traits>
#include <utility>

namespace ekiden::inline EKIDEN_ABI {

/// A handle of a place where functions run: copied without exceptions, equal if it makes no difference which
/// of two is used. `dispatch(f, allocator)` may call f() before it returns; `post` and `defer` never do.
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

/// An executor that takes tasks as they are, as all those of this library do: see task_sink.
template <class E>
concept task_executor = executor<E> && requires(const E& e, task* t) {
    { e.accept(t, task_order::usual) } -> std::same_as<bool>;
    { e.continue_with(t) } -> std::same_as<task*>;
    { e.running_in_this_thread() } -> std::same_as<bool>;
    e.report_unhandled("");
};

/// Gives a task to any executor, as accept() of a task_sink does. Where the executor takes only functions it
/// makes one of the task, and true says nothing about whether that will run.
template <executor E>
bool accept_task(const E& e, task* given, task_order order) {
    if constexpr (task_executor<E>) {
        return e.accept(given, order);
    } else {
        owned_task owned(given);
        const E kept = e; // the handle may lie in what the task ends
        if (order == task_order::deferred)
            kept.defer(std::move(owned), std::allocator<void>());
        else
            kept.post(std::move(owned), std::allocator<void>());
        return true;
    }
}

/// As continue_with() of a task_sink: a task that the caller must run at once, or null. An executor that
/// takes only functions has run the task already if it wanted to.
template <executor E>
[[nodiscard]] task* continue_task(const E& e, task* given) {
    if constexpr (task_executor<E>) {
        return e.continue_with(given);
    } else {
        const E kept = e; // as above
        kept.dispatch(owned_task(given), std::allocator<void>());
        return nullptr;
    }
}

/// Returns whether the caller is inside of the executor's context. Returns false if the executor cannot tell.
template <executor E>
[[nodiscard]] bool running_in_this_thread(const E& e) noexcept {
    if constexpr (requires { e.running_in_this_thread(); })
        return e.running_in_this_thread();
    else
        return false;
}

/// Returns whether the caller may call a function itself instead of e.dispatch(). Returns false for an
/// executor that accepts only functions, since it may do something before and after them.
template <executor E>
[[nodiscard]] bool calls_in_place(const E& e) noexcept {
    if constexpr (task_executor<E>)
        return detail::sink_calls_in_place(e);
    else
        return false;
}

/// Reports the exception that is being handled as one of a function that `e` has run.
template <executor E>
void report_unhandled(const E& e, const char* type) noexcept {
    if constexpr (task_executor<E>) {
        e.report_unhandled(type);
    } else {
        try { // where it would have come from
            e.post([error = std::current_exception()] { std::rethrow_exception(error); },
                   std::allocator<void>());
        } catch (...) { // the executor takes nothing now, and there is no other way to the program
        }
    }
}

} // namespace ekiden::inline EKIDEN_ABI

// future::then() needs an executor, so a program that has the header of an executor has the function, too. It
// stands at the end because it needs the concept above.
#include <ekiden/execution/then.hpp> // IWYU pragma: export
