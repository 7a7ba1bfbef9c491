/// Starts a coroutine that nobody awaits.
///
/// Part: async. Used by: programs, sync_wait. After co_spawn of Asio, but for what is said about callables.
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

template <class T>
using await_result_t = decltype(std::declval<awaiter_t<T>>().await_resume());

/// What a function to be spawned returns, to be awaited; or an awaitable itself.
template <class F>
struct spawned_awaitable {
    using type = F;
};
template <class F>
    requires std::invocable<F&>
struct spawned_awaitable<F> {
    using type = std::invoke_result_t<F&>;
};
template <class F>
using spawned_result_t = await_result_t<typename spawned_awaitable<F>::type>;
template <class F>
concept spawnable = requires { requires awaiter<awaiter_t<typename spawned_awaitable<F>::type>>; };
/// For a message of its own, and no other one.
template <class F>
struct spawned_result {
    static_assert(
        spawnable<F>,
        "ekiden: co_spawn: what is spawned is a coroutine or another awaitable, or a callable without "
        "parameters that returns one; a lambda is that if it has the return type ekiden::coroutine<T>");
    using type = void;
};
template <spawnable F>
struct spawned_result<F> {
    using type = spawned_result_t<F>;
};

/// How a result travels to a handler: a reference as a pointer; what cannot be made from nothing in an
/// optional, which is empty after a failure.
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

/// Whether what is being handled says that the coroutine has been stopped, as it was asked to.
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

/// For the token `detached`: an exception goes where those of the executor's tasks go.
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

/// For the token `use_future`: a result that cannot be made from nothing needs no stand-in there. A coroutine
/// that does not come to its end gives operation_canceled.
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

/// For handlers. One that has an executor of its own is called there, else where the coroutine has ended.
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
        } catch (...) { // of the handler, not of the coroutine
            env.executor.report_unhandled(type_description<Handler>());
        }
    }
};

struct requests_stop {
    stop_state* state;
    void operator()() const noexcept { state->request_stop(); }
};

/// The root. The callable lies in its frame, and outlives the coroutine that it has made. Neither outlives
/// the news of the end.
template <class F, class End>
root_coroutine spawned(std::optional<F> f, End end, spawn_options chosen) {
    using result = typename End::result;
    root_coroutine::promise_type& root = co_await this_root{};
    const environment& env = root.env();
    stop_state own_stop;
    std::optional<std::stop_callback<requests_stop>> on_request;
    if (chosen.stop().stop_possible()) {
        root.given_environment().stop = &own_stop;
        on_request.emplace(chosen.stop(), requests_stop{&own_stop});
    }
    coroutine_result<result> outcome;
    try {
        if constexpr (std::is_void_v<result>) {
            if constexpr (std::invocable<F&>)
                co_await (*f)();
            else
                co_await std::move(*f);
            outcome.set_value();
        } else if constexpr (std::invocable<F&>) {
            outcome.set_value(co_await (*f)());
        } else {
            outcome.set_value(co_await std::move(*f));
        }
    } catch (...) {
        outcome.set_error(std::current_exception());
    }
    // Whoever learns of the end may end what the coroutine and the callable have referred to.
    f.reset();
    if (!outcome.is_error()) {
        try {
            if constexpr (std::is_void_v<result>)
                end.succeed(env);
            else
                end.succeed(env, outcome.take());
        } catch (...) { // of moving the result
            outcome.set_error(std::current_exception());
        }
    }
    if (outcome.is_error()) end.fail(env, outcome.take_error());
}

/// Throws as `where.post()`; then nothing has begun.
template <executor E, class F, class End>
void begin_spawned(const E& where, F&& f, End end, const spawn_options& chosen) {
    auto& root =
        spawned<std::decay_t<F>, End>(std::optional<std::decay_t<F>>(std::in_place, std::forward<F>(f)),
                                      std::move(end), chosen)
            .promise();
    root.begin(where, chosen);
}

} // namespace detail

/// Has `f()` called by `where`, and awaits what it returns there: a coroutine, or any awaitable. `f` is kept
/// until that has ended, so it may be a lambda with captures that is a coroutine itself. Returns what the
/// token wants; the default wants nothing. An operation of the signature void(std::exception_ptr), or
/// void(std::exception_ptr, T) if the result is a T: with a pointer for a reference, and an optional for what
/// has no default constructor.
///
/// With the token `detached` an exception goes to the handler of the executor, as those of its tasks do; but
/// not one that says operation_canceled after the stop that `chosen` names.
///
/// The context of `where` has work until the coroutine has ended, and nothing is left of it. If an executor
/// refuses or drops the coroutine, because its context stops or a lane is full, or if the context of `where`
/// ends, then the coroutine ends: its locals are destroyed, `f` too, and the handler is not called; a future
/// throws operation_canceled. A coroutine that is refused ends in a task of the context of `where`; if that
/// context has stopped for good, in a thread that waits there in sync_wait(), with the next co_spawn() there,
/// or with that context. So a task of a pool that may stop waits by sync_wait(), not for a future of a
/// coroutine of that pool. A context must not be destroyed while a coroutine that
/// was spawned on it runs on another one, or while another thread may still resume it.
///
/// Any thread, also at its end (destructors of thread_local objects). Throws as where.post(), so in the child
/// of a fork() on a pool of the parent, and std::bad_alloc; then nothing has begun, and nothing is kept. If
/// `where` takes no more, everything is destroyed at once.
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

/// The same on the executor of `context`.
template <std::derived_from<execution_context> Context, class F, class Token = detached_t>
auto co_spawn(Context& context, F&& f, Token&& token = Token(), spawn_options chosen = spawn_options()) {
    return co_spawn(context.get_executor(), std::forward<F>(f), std::forward<Token>(token),
                    std::move(chosen));
}

} // namespace ekiden::inline EKIDEN_ABI
