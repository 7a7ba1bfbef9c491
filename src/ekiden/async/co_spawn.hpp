/// Starts a coroutine that no other coroutine awaits.
///
/// Part: async. Used by: programs, sync_wait. Modeled on co_spawn of Asio, except for the lifetime of
/// callables.
#pragma once

#include <ekiden/async/coroutine.hpp>
#include <ekiden/async/detail/root_coroutine.hpp>
#include <ekiden/async/detail/stop_state.hpp>
#include <ekiden/async/get_environment.hpp>
#include <ekiden/async/operation_canceled.hpp>
#include <ekiden/async/spawn_options.hpp>
#include <ekiden/execution/associated_executor.hpp>
#include <ekiden/execution/async_result.hpp>
#include <ekiden/execution/detached.hpp>
#include <ekiden/execution/detail/initiate.hpp>
#include <ekiden/execution/executor.hpp>
#include <ekiden/execution/use_future.hpp>

#include <concepts>
#include <exception>
#include <optional>
#include <stop_token>
#include <system_error>
#include <type_traits>
#include <utility>

namespace ekiden::inline EKIDEN_ABI {

namespace detail {

/// The result of a source. A primary template that gives one clear error message.
template <class F>
struct spawned_result {
    static_assert(
        async_source<F>,
        "ekiden: co_spawn: what is spawned is a coroutine or another awaitable, or a callable without "
        "parameters that returns one; a lambda is that if it has the return type ekiden::coroutine<T>");
    using type = void;
};
template <async_source F>
struct spawned_result<F> {
    using type = result_of_source<F>;
};

/// How a result is passed to a handler: a reference as a pointer, a type without a default constructor in an
/// optional. The optional is empty after a failure.
template <class T>
struct spawn_signature {
    using argument = std::conditional_t<
        std::is_reference_v<T>, std::remove_reference_t<T>*,
        std::conditional_t<std::is_default_constructible_v<T>, std::remove_cv_t<T>, std::optional<T>>>;
    using type = void(std::exception_ptr, argument);
    static argument of(T&& result) {
        if constexpr (std::is_reference_v<T>)
            return std::addressof(result);
        else
            return argument(std::forward<T>(result));
    }
};
template <>
struct spawn_signature<void> {
    using type = void(std::exception_ptr);
};

/// Returns whether the exception being handled only says that the coroutine was stopped as requested.
[[nodiscard]] inline bool is_asked_for(const environment& env) noexcept {
    if (env.stop == nullptr || !env.stop->stop_requested()) return false;
    try {
        throw;
    } catch (const std::system_error& error) {
        return error.code() == std::errc::operation_canceled;
    } catch (...) {
        return false;
    }
}

/// For the token `detached`: an exception goes to the handler that the executor's tasks use.
template <class F, class T>
struct reports_failure {
    using result = T;
    template <class... Value>
    void succeed(const environment&, Value&&...) noexcept {}
    void fail(const environment& env, std::exception_ptr error) noexcept {
        try {
            std::rethrow_exception(std::move(error));
        } catch (...) {
            if (!is_asked_for(env)) env.executor.report_unhandled(type_description<F>());
        }
    }
};

/// For the token `use_future`: a result without a default constructor needs no optional here. A coroutine
/// that does not complete gives operation_canceled.
template <class T>
struct fulfils_promise {
    using result = T;

    fulfils_promise() = default;
    fulfils_promise(fulfils_promise&& other) noexcept
        : promised(std::move(other.promised)), is_owed(std::exchange(other.is_owed, false)) {}
    fulfils_promise& operator=(fulfils_promise&&) = delete;
    ~fulfils_promise() {
        if (is_owed) promised.set_exception(canceled("an executor has dropped the coroutine"));
    }

    template <class... Value>
    void succeed(const environment&, Value&&... value) {
        promised.set_value(std::forward<Value>(value)...);
        is_owed = false;
    }
    void fail(const environment&, std::exception_ptr error) noexcept {
        promised.set_exception(std::move(error));
        is_owed = false;
    }

    promise<T> promised;
    bool is_owed = true;
};

/// For handlers. A handler with an executor of its own is called there. Others are called where the coroutine
/// has ended.
template <class Handler, class T>
struct calls_handler {
    using result = T;
    template <class Value>
    void succeed(const environment& env, Value&& value) {
        call(env, std::exception_ptr(), spawn_signature<T>::of(std::forward<Value>(value)));
    }
    void succeed(const environment& env) { call(env, std::exception_ptr()); }
    void fail(const environment& env, std::exception_ptr error) noexcept {
        if constexpr (std::is_void_v<T>)
            call(env, std::move(error));
        else
            call(env, std::move(error), typename spawn_signature<T>::argument{});
    }

    Handler handler;

private:
    template <class... Args>
    void call(const environment& env, Args&&... args) noexcept {
        try {
            if constexpr (has_own_executor<Handler>) {
                const auto where = ekiden::get_associated_executor(handler);
                where.dispatch(bound(std::move(handler), std::forward<Args>(args)...),
                               std::allocator<void>());
            } else {
                std::move(handler)(std::forward<Args>(args)...);
            }
        } catch (...) { // thrown by the handler, not by the coroutine
            env.executor.report_unhandled(type_description<Handler>());
        }
    }
};

/// The root. The callable lies in its frame and outlives the coroutine that it has made. Both are destroyed
/// before the end is reported.
template <class F, class End>
root_coroutine spawned(std::optional<F> f, End end) {
    using result = typename End::result;
    const environment& env = co_await get_environment();
    coroutine_result<result> outcome;
    try {
        if constexpr (std::is_void_v<result>) {
            co_await source_of(*f);
            outcome.set_value();
        } else {
            outcome.set_value(co_await source_of(*f));
        }
    } catch (...) {
        outcome.set_error(std::current_exception());
    }
    // The thread that is told of the end may destroy what the coroutine and the callable have referred to.
    f.reset();
    if (!outcome.is_error()) {
        try {
            if constexpr (std::is_void_v<result>)
                end.succeed(env);
            else
                end.succeed(env, outcome.take());
        } catch (...) { // thrown when the result is moved
            outcome.set_error(std::current_exception());
        }
    }
    if (outcome.is_error()) end.fail(env, outcome.take_error());
}

/// Throws like `where.post()`. It has no effect if it throws.
template <executor E, class F, class End>
void begin_spawned(const E& where, F&& f, End end, const spawn_options& chosen) {
    auto& root = spawned<std::decay_t<F>, End>(
                     std::optional<std::decay_t<F>>(std::in_place, std::forward<F>(f)), std::move(end))
                     .promise();
    root.begin(where, chosen);
}

} // namespace detail

/// Calls `f()` on the executor `where` and awaits the result there: a coroutine, or any awaitable.
///
/// `f` is kept until the coroutine has ended, so it may be a lambda with captures that is a coroutine itself.
/// Returns what the token asks for; the default returns nothing. The signature of the operation is
/// void(std::exception_ptr), or void(std::exception_ptr, T) for a result T. A reference is passed as a
/// pointer. A type without a default constructor is passed in an optional.
///
/// With the token `detached`, an exception goes to the exception handler of the executor's tasks. An
/// operation_canceled after the stop that `chosen` names is ignored.
///
/// The context of `where` has outstanding work until the coroutine has ended and its frame has been
/// destroyed.
///
/// The coroutine is dropped if the context of `where` is destroyed, or if an executor refuses or drops it. An
/// executor does so if its context stops, or if a lane is full. Then its locals and `f` are destroyed, and
/// the handler is not called. A future throws operation_canceled.
///
/// A refused coroutine is destroyed by a task of the context of `where`. If that context has stopped for
/// good, one of these destroys it: a thread that waits there in sync_wait(), the next co_spawn() there, or
/// the context's destructor. Therefore a task of a pool that may stop should wait with sync_wait(), not for
/// the future of a coroutine of that pool.
///
/// A context must not be destroyed while a coroutine that was spawned on it runs on another context, or while
/// another thread may still resume it.
///
/// Throws like where.post(), so also in the child of a fork() on a pool of the parent. Throws std::bad_alloc.
/// If it throws, nothing has begun and nothing is kept. If `where` accepts no more tasks, everything is
/// destroyed at once. Any thread may call it, also from destructors of its thread_local objects.
template <executor E, class F, class Token = detached_t>
auto co_spawn(const E& where, F&& f, Token&& token = Token(), spawn_options chosen = spawn_options()) {
    using callable = std::decay_t<F>;
    using result = typename detail::spawned_result<callable>::type;
    refuse_empty<callable>(f, "co_spawn");
    if constexpr (std::same_as<std::decay_t<Token>, detached_t>) {
        detail::begin_spawned(where, std::forward<F>(f), detail::reports_failure<callable, result>(), chosen);
    } else if constexpr (std::same_as<std::decay_t<Token>, use_future_t>) {
        detail::fulfils_promise<result> end;
        auto awaited = end.promised.get_future();
        detail::begin_spawned(where, std::forward<F>(f), std::move(end), chosen);
        return awaited;
    } else {
        return ekiden::async_initiate<Token, typename detail::spawn_signature<result>::type>(
            [where, chosen = std::move(chosen)]<class Handler>(Handler&& handler, auto&& kept) {
                detail::begin_spawned(
                    where, std::forward<decltype(kept)>(kept),
                    detail::calls_handler<std::decay_t<Handler>, result>{std::forward<Handler>(handler)},
                    chosen);
            },
            std::forward<Token>(token), std::forward<F>(f));
    }
}

/// Does the same on the executor of `context`.
template <std::derived_from<execution_context> Context, class F, class Token = detached_t>
auto co_spawn(Context& context, F&& f, Token&& token = Token(), spawn_options chosen = spawn_options()) {
    return co_spawn(context.get_executor(), std::forward<F>(f), std::forward<Token>(token),
                    std::move(chosen));
}

} // namespace ekiden::inline EKIDEN_ABI
