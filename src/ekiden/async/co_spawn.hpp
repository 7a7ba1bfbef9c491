/// Starts a coroutine that no other coroutine awaits.
///
/// Part: async. Used by: programs and sync_wait(). Modeled on co_spawn() of Asio. The difference from Asio is
/// the lifetime of the callable.
#pragma once

#include <ekiden/async/coroutine.hpp>
#include <ekiden/async/detail/root_coroutine.hpp>
#include <ekiden/async/detail/stop_state.hpp>
#include <ekiden/async/get_environment.hpp>
#include <ekiden/async/spawn_options.hpp>
#include <ekiden/execution/associated_allocator.hpp>
#include <ekiden/execution/associated_executor.hpp>
#include <ekiden/execution/async_result.hpp>
#include <ekiden/execution/detached.hpp>
#include <ekiden/execution/detail/initiate.hpp>
#include <ekiden/execution/executor.hpp>
#include <ekiden/execution/use_future.hpp>
#include <ekiden/future/operation_canceled.hpp>

#include <concepts>
#include <exception>
#include <optional>
#include <stop_token>
#include <system_error>
#include <type_traits>
#include <utility>

namespace ekiden::inline EKIDEN_ABI {

namespace detail {

/// The result type of a spawned coroutine or callable. The primary template exists only to report one clear
/// error message.
template <class F>
struct spawned_result {
    static_assert(
        async_source<F>,
        "ekiden: co_spawn: pass a coroutine, another awaitable, or a callable without parameters that "
        "returns one. A lambda that is a coroutine needs the return type ekiden::coroutine<T>");
    using type = void;
};
template <async_source F>
struct spawned_result<F> {
    using type = result_of_source<F>;
};

/// Defines how a result is passed to a completion handler. A reference is passed as a pointer. A type without
/// a default constructor is passed in a std::optional, which is empty after a failure.
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

/// Returns true if a stop of the coroutine was requested, and the current exception is an operation_canceled.
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

/// Handles the end of a coroutine that was spawned with the token `detached`. An exception is passed to the
/// exception handler of the executor's tasks.
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

/// Completes the promise of a coroutine that was spawned with the token `use_future`. The result is stored
/// directly and not in a std::optional, even if its type has no default constructor. If the coroutine is
/// dropped, the future throws operation_canceled.
template <class T>
struct fulfils_promise {
    using result = T;

    fulfils_promise() = default;
    fulfils_promise(fulfils_promise&& other) noexcept
        : promised(std::move(other.promised)), is_owed(std::exchange(other.is_owed, false)) {}
    fulfils_promise& operator=(fulfils_promise&&) = delete;
    ~fulfils_promise() {
        if (is_owed) promised.set_exception(canceled_error("an executor has dropped the coroutine"));
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

/// Calls the completion handler when the coroutine has ended. If the handler has an associated executor, the
/// handler runs on that executor, and counts as work of its context until then. A handler without an executor
/// runs in the thread in which the coroutine has ended.
template <class Handler, class T>
struct calls_handler {
    using result = T;

    /// `runner` is the context on which the coroutine is spawned.
    template <class H>
    calls_handler(H&& given, const execution_context& runner)
        : handler(keep(std::forward<H>(given), runner)) {}

    template <class Value>
    void succeed(const environment& env, Value&& value) {
        call(env, std::exception_ptr(), spawn_signature<T>::of(std::forward<Value>(value)));
    }
    void succeed(const environment& env) { call(env, std::exception_ptr()); }
    void fail(const environment& env, std::exception_ptr error) noexcept {
        if constexpr (std::is_void_v<T>) {
            call(env, std::move(error));
        } else {
            try {
                call(env, std::move(error), typename spawn_signature<T>::argument{});
            } catch (...) { // the default constructor of the result has thrown
                env.executor.report_unhandled(type_description<Handler>());
            }
        }
    }

protected:
    [[nodiscard]] const Handler& get() const noexcept {
        if constexpr (has_own_executor<Handler>)
            return handler.get();
        else
            return handler;
    }

private:
    using kept = std::conditional_t<has_own_executor<Handler>, working_handler<Handler>, Handler>;
    template <class H>
    [[nodiscard]] static kept keep(H&& given, [[maybe_unused]] const execution_context& runner) {
        if constexpr (has_own_executor<Handler>)
            return kept(std::forward<H>(given), runner);
        else
            return kept(std::forward<H>(given));
    }
    template <class... Args>
    void call(const environment& env, Args&&... args) noexcept {
        try {
            if constexpr (has_own_executor<Handler>)
                handler.dispatch(std::allocator<void>(), std::forward<Args>(args)...);
            else
                std::move(handler)(std::forward<Args>(args)...);
        } catch (...) { // the handler has thrown, not the coroutine
            env.executor.report_unhandled(type_description<Handler>());
        }
    }

    kept handler;
};

/// A calls_handler whose handler has an associated allocator. This allocator allocates the frame of the root.
template <class Handler, class T>
struct calls_handler_with_allocator : calls_handler<Handler, T> {
    using calls_handler<Handler, T>::calls_handler;
    using allocator_type = associated_allocator_t<Handler>;
    [[nodiscard]] allocator_type get_allocator() const noexcept {
        return ekiden::get_associated_allocator(this->get());
    }
};
template <class Handler, class T>
using calls_handler_of =
    std::conditional_t<is_std_allocator<associated_allocator_t<Handler>>, calls_handler<Handler, T>,
                       calls_handler_with_allocator<Handler, T>>;

// Without optimization, g++ 12 warns of the two operators of allocated_frame, but they match.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"

/// What the frame of a root contains. Destroys the callable before `end`, which may report that the coroutine
/// was dropped. The compilers destroy two parameters of a coroutine in different orders.
template <class F, class End>
struct spawned_parts {
    End end;
    std::optional<F> f;
};

/// The root coroutine. The callable `f` lies in the frame of the root, because `f` must outlive the coroutine
/// that `f` returns. The callable and its coroutine are destroyed before `end` reports the result.
/// `Allocator` is empty, or std::allocator_arg_t and the type of the allocator of the frame.
template <class F, class End, class... Allocator>
root_coroutine spawned(Allocator..., spawned_parts<F, End> parts) {
    using result = typename End::result;
    End& end = parts.end;
    std::optional<F>& f = parts.f;
    const environment& env = co_await get_environment();
    coroutine_result<result> outcome;
    try {
        if constexpr (std::is_void_v<result>) {
            co_await detail::source_of(*f);
            outcome.set_value();
        } else {
            outcome.set_value(co_await detail::source_of(*f));
        }
    } catch (...) {
        outcome.set_error(std::current_exception());
    }
    // Destroy the callable before the end is reported. A thread that learns of the end may destroy objects to
    // which the callable refers.
    f.reset();
    if (!outcome.is_error()) {
        try {
            if constexpr (std::is_void_v<result>)
                end.succeed(env);
            else
                end.succeed(env, outcome.take());
        } catch (...) { // the move of the result has thrown
            outcome.set_error(std::current_exception());
        }
    }
    if (outcome.is_error()) end.fail(env, outcome.take_error());
}

#pragma GCC diagnostic pop

/// Starts the coroutine on `where`. Throws whatever `where.post()` throws. A call that throws has no effect.
/// `starts_here` has the same meaning as in root_coroutine.
template <executor E, class F, class End>
void begin_spawned(const E& where, F&& f, End end, const spawn_options& chosen, bool starts_here = false) {
    using callable = std::decay_t<F>;
    spawned_parts<callable, End> parts{std::move(end),
                                       std::optional<callable>(std::in_place, std::forward<F>(f))};
    const auto made = [&] {
        if constexpr (requires { typename End::allocator_type; }) {
            using allocator = typename End::allocator_type;
            const allocator given = parts.end.get_allocator();
            return detail::spawned<callable, End, std::allocator_arg_t, allocator>(std::allocator_arg, given,
                                                                                   std::move(parts));
        } else {
            return detail::spawned<callable, End>(std::move(parts));
        }
    };
    made().promise().begin(where, chosen, starts_here);
}

/// Spawns like co_spawn(), for all completion tokens.
template <executor E, class F, class Token>
auto spawn_by_token(const E& where, F&& f, Token&& token, spawn_options&& chosen, bool starts_here) {
    using callable = std::decay_t<F>;
    using result = typename spawned_result<callable>::type;
    if constexpr (std::same_as<std::decay_t<Token>, detached_t>) {
        detail::begin_spawned(where, std::forward<F>(f), reports_failure<callable, result>(), chosen,
                              starts_here);
    } else if constexpr (std::same_as<std::decay_t<Token>, use_future_t>) {
        fulfils_promise<result> end;
        auto awaited = end.promised.get_future();
        detail::begin_spawned(where, std::forward<F>(f), std::move(end), chosen, starts_here);
        return awaited;
    } else {
        return ekiden::async_initiate<Token, typename spawn_signature<result>::type>(
            [where, chosen = std::move(chosen), starts_here]<class Handler>(Handler&& handler, auto&& kept) {
                using end = calls_handler_of<std::decay_t<Handler>, result>;
                detail::begin_spawned(where, std::forward<decltype(kept)>(kept),
                                      end(std::forward<Handler>(handler), where.context()), chosen,
                                      starts_here);
            },
            std::forward<Token>(token), std::forward<F>(f));
    }
}

} // namespace detail

/// Calls `f()` on the executor `where`, and awaits the result of the call. The result must be a coroutine or
/// another awaitable. If `f` is not callable, awaits `f` itself.
///
/// `f` is stored until the coroutine has ended. So `f` may be a lambda that has captures and is a coroutine.
/// The completion token defines what co_spawn() returns. With the default token, co_spawn() returns nothing.
/// If the completion handler has an associated allocator, this allocator allocates the frame of the root, in
/// which `f` and the handler lie. The completion signature is void(std::exception_ptr), or
/// void(std::exception_ptr, T) for a result of type T. If the result is a reference, the handler gets a
/// pointer. If the result type has no default constructor, the handler gets a std::optional.
///
/// With the token `detached`, an exception of the coroutine is passed to the exception handler of the
/// executor's tasks. An operation_canceled is ignored if the stop token in `chosen` has stopped the
/// coroutine.
///
/// The context of `where` has outstanding work until the coroutine has ended and its frame has been
/// destroyed. If the completion handler has an associated executor, the context of this executor has
/// outstanding work until the handler is called or destroyed.
///
/// The coroutine is dropped if the context of `where` is destroyed, or if an executor refuses or drops the
/// coroutine. An executor refuses or drops a coroutine if the executor's context stops, or if a lane is full.
/// A dropped coroutine does not continue. Its local variables and `f` are destroyed. The completion handler
/// of a dropped coroutine is not called. The future of a dropped coroutine throws operation_canceled.
///
/// If an executor refuses the coroutine, a task of the context of `where` destroys the coroutine. If the
/// context has stopped permanently, the coroutine is destroyed by the first of three calls: a sync_wait() on
/// that context, the next co_spawn() on that context, or the destructor of the context. So if a pool may
/// stop, its tasks should wait for coroutines of this pool with sync_wait(), and not with a future.
///
/// Do not destroy a context while a coroutine that was spawned on it runs on another context. Do not destroy
/// a context while another thread may still resume a coroutine of this context. A coroutine must not be the
/// last owner of the context on which it was spawned, for example by a std::shared_ptr in `f`. Otherwise, the
/// destructor of the context aborts the program or does not return.
///
/// Throws whatever where.post() throws. For example, the child process of a fork() cannot spawn on a pool of
/// the parent process. Throws std::bad_alloc. If co_spawn() throws, the coroutine has not begun, and `f` is
/// not stored. If `where` accepts no more tasks, the coroutine and `f` are destroyed at once. Any thread may
/// call co_spawn(), even in the destructor of a thread_local object.
template <executor E, class F, class Token = detached_t>
auto co_spawn(const E& where, F&& f, Token&& token = Token(), spawn_options chosen = spawn_options()) {
    ekiden::refuse_empty<std::decay_t<F>>(f, "co_spawn");
    return detail::spawn_by_token(where, std::forward<F>(f), std::forward<Token>(token), std::move(chosen),
                                  false);
}

/// Calls co_spawn() with the executor of `context`.
template <std::derived_from<execution_context> Context, class F, class Token = detached_t>
auto co_spawn(Context& context, F&& f, Token&& token = Token(), spawn_options chosen = spawn_options()) {
    return ekiden::co_spawn(context.get_executor(), std::forward<F>(f), std::forward<Token>(token),
                            std::move(chosen));
}

} // namespace ekiden::inline EKIDEN_ABI
