/// Wraps the awaitables that a coroutine awaits. An awaiter of another library may resume a coroutine on any
/// thread. The wrapper then posts the coroutine to the coroutine's own executor.
///
/// Part: async. Used by: coroutine_promise. This header is private.
#pragma once

#include <ekiden/async/detail/coroutine_promise.hpp>
#include <ekiden/async/detail/suspension.hpp>

#include <concepts>
#include <coroutine>
#include <functional>
#include <type_traits>
#include <utility>

namespace ekiden::inline EKIDEN_ABI::detail {

template <class T>
concept has_member_co_await = requires(T&& t) { std::forward<T>(t).operator co_await(); };
template <class T>
concept has_free_co_await = requires(T&& t) { operator co_await(std::forward<T>(t)); };

/// Awaits objects that are no awaitables of the language. An adapter specializes this class for the types of
/// another library, with a static function of() that returns the awaiter.
template <class T>
struct await_adapter {};

/// Returns the awaiter of an awaitable. If the awaitable has an operator co_await, the awaiter is the result
/// of this operator. Otherwise, the awaiter is the awaitable itself.
template <class T>
decltype(auto) awaiter_of(T&& awaitable) {
    if constexpr (has_member_co_await<T>)
        return std::forward<T>(awaitable).operator co_await();
    else if constexpr (has_free_co_await<T>)
        return operator co_await(std::forward<T>(awaitable));
    else if constexpr (requires { await_adapter<T>::of(std::forward<T>(awaitable)); })
        return await_adapter<T>::of(std::forward<T>(awaitable));
    else
        return std::forward<T>(awaitable);
}
template <class T>
using awaiter_t = decltype(detail::awaiter_of(std::declval<T>()));

template <class Awaiter>
concept awaiter = requires(std::remove_reference_t<Awaiter>& a) {
    static_cast<bool>(a.await_ready());
    a.await_resume();
};

/// Converts an argument of a program to an awaitable. If the argument is a callable without parameters,
/// source_of() calls the argument and returns the result. Otherwise, source_of() returns the argument itself.
template <class F>
decltype(auto) source_of(F& given) {
    if constexpr (std::invocable<F&>)
        return std::invoke(given);
    else
        return std::move(given);
}
/// Satisfied by an awaitable, and by a callable without parameters that returns an awaitable.
template <class F>
concept async_source = awaiter<awaiter_t<decltype(detail::source_of(std::declval<F&>()))>>;
template <class F>
using result_of_source =
    decltype(std::declval<awaiter_t<decltype(detail::source_of(std::declval<F&>()))>&>().await_resume());

/// Satisfied by an awaiter that begins a coroutine of this library. Such an awaiter is never ready at once.
template <class Awaiter>
concept transferring_awaiter = requires { requires std::remove_cvref_t<Awaiter>::transfers; };

/// Represents a coroutine that awaits an awaiter of another library. This awaiter gets the handle of the
/// stand_in_frame instead of the handle of the coroutine. A stand_in_frame has the layout of the beginning of
/// a coroutine frame, and contains a promise. All compilers use the same layout. When a thread resumes the
/// stand_in_frame, the stand_in_frame posts the coroutine to the coroutine's executor.
class stand_in_frame {
public:
    struct promise_type {
        [[nodiscard]] std::coroutine_handle<> stands_for() const noexcept { return waiting; }
        [[nodiscard]] coroutine_promise* stands_for_promise() const noexcept { return promise; }

        suspension way_home;
        std::coroutine_handle<> waiting;
        coroutine_promise* promise = nullptr;
    };

    stand_in_frame() noexcept = default;
    stand_in_frame(const stand_in_frame&) = delete;
    stand_in_frame& operator=(const stand_in_frame&) = delete;

    template <class Promise>
    [[nodiscard]] std::coroutine_handle<promise_type> in_place_of(std::coroutine_handle<Promise> h) noexcept {
        promise_.waiting = h;
        promise_.promise = &h.promise();
        promise_.way_home.bind(h);
        return std::coroutine_handle<promise_type>::from_address(this);
    }

private:
    static void resume(stand_in_frame* self) noexcept { self->promise_.way_home.resume(); }
    static void destroy(stand_in_frame* self) noexcept { self->promise_.promise->abandon_chain(); }

    // coroutine_handle<promise_type> expects that a frame begins with two pointers, which the aligned promise
    // follows.
    [[maybe_unused]] void (*resume_)(stand_in_frame*) noexcept = &resume;
    [[maybe_unused]] void (*destroy_)(stand_in_frame*) noexcept = &destroy;
    promise_type promise_;
};

struct no_stand_in {};

/// Awaits an object of type `T` in a coroutine of this library. An await counts against the time slice of the
/// coroutine even if it is ready at once.
template <class T>
class [[nodiscard]] await_here {
    using made = awaiter_t<T>;
    using own = std::remove_reference_t<made>;
    static constexpr bool is_foreign = !homing_awaiter<made>;
    // If operator co_await returns the awaiter by value, this class stores the awaiter. Otherwise, the
    // awaiter is an object of the awaited expression, and this class stores a reference to the awaiter.
    using kept = std::conditional_t<std::is_reference_v<made>, made, own>;

    static_assert(awaiter<made>, "ekiden: co_await: this cannot be awaited: it has no operator co_await, and "
                                 "no await_ready(), await_suspend() and await_resume()");

public:
    explicit await_here(T&& awaitable) : awaiter_(detail::awaiter_of(std::forward<T>(awaitable))) {}
    await_here(const await_here&) = delete;
    await_here& operator=(const await_here&) = delete;

    [[nodiscard]] bool await_ready() {
        if (!static_cast<bool>(awaiter_.await_ready())) return false;
        is_postponed_ = is_slice_over();
        return !is_postponed_;
    }

    /// This function must not access the awaiter after the call of the awaiter's await_suspend(), because the
    /// coroutine may already run in another thread.
    template <class Promise>
    auto await_suspend(std::coroutine_handle<Promise> waiting) {
        using returned = decltype(suspend(waiting));
        if constexpr (std::is_void_v<returned>) {
            if (is_postponed_) return waiting.promise().post(task_order::deferred);
            suspend(waiting);
        } else if constexpr (std::same_as<returned, bool>) {
            if (!is_postponed_) return suspend(waiting);
            waiting.promise().post(task_order::deferred);
            return true;
        } else {
            if (!is_postponed_) return detail::transfer(suspend(waiting));
            waiting.promise().post(task_order::deferred);
            return std::coroutine_handle<>(std::noop_coroutine());
        }
    }

    decltype(auto) await_resume() { return awaiter_.await_resume(); }

private:
    template <class Promise>
    auto suspend(std::coroutine_handle<Promise> waiting) {
        if constexpr (is_foreign) {
            using handle = std::coroutine_handle<stand_in_frame::promise_type>;
            constexpr bool accepts = requires(kept& object, handle h) { object.await_suspend(h); };
            static_assert(accepts || !awaiter<made>,
                          "ekiden: co_await: only coroutines of another library can await this, "
                          "because its await_suspend() does not accept the handle. If "
                          "asio::use_awaitable has made it, pass ekiden::use_awaitable instead");
            if constexpr (accepts) return awaiter_.await_suspend(stand_in_.in_place_of(waiting));
        } else {
            return awaiter_.await_suspend(waiting);
        }
    }

    kept awaiter_;
    [[no_unique_address]] std::conditional_t<is_foreign, stand_in_frame, no_stand_in> stand_in_;
    bool is_postponed_ = false;
};

template <class T>
auto await_in_place(T&& awaitable) {
    if constexpr (transferring_awaiter<awaiter_t<T>>)
        return detail::awaiter_of(std::forward<T>(awaitable));
    else
        return await_here<T>(std::forward<T>(awaitable));
}

} // namespace ekiden::inline EKIDEN_ABI::detail
