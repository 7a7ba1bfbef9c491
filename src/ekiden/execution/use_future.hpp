/// The completion token with which an operation returns a future.
///
/// Part: execution. Used by: programs. Modeled on section 13.26 of the Networking TS (N4771).
#pragma once

#include <ekiden/execution/async_result.hpp>
#include <ekiden/future/promise.hpp>

#include <concepts>
#include <exception>
#include <functional>
#include <system_error>
#include <tuple>
#include <type_traits>
#include <utility>

namespace ekiden::inline EKIDEN_ABI {

namespace detail {

/// A type whose values report whether an operation has failed. If the first argument of a handler has such a
/// type and reports a failure, the argument becomes the exception of the future.
template <class T>
concept failure = std::same_as<T, std::error_code> || std::same_as<T, std::exception_ptr>;

/// Returns a std::bad_alloc if there is no memory for the exception.
[[nodiscard]] inline std::exception_ptr exception_of(const std::error_code& error) noexcept {
    if (!error) return nullptr;
    try {
        throw std::system_error(error);
    } catch (...) {
        return std::current_exception();
    }
}
[[nodiscard]] inline std::exception_ptr exception_of(std::exception_ptr error) noexcept { return error; }

/// Combines all arguments to one result. Without arguments, the result is void. A single argument is the
/// result itself, and several arguments become a tuple.
struct as_one_result {
    template <class... Args>
    auto operator()(Args&&... args) const {
        if constexpr (sizeof...(Args) == 1)
            return (std::decay_t<Args>(std::forward<Args>(args)), ...);
        else if constexpr (sizeof...(Args) > 1)
            return std::tuple<std::decay_t<Args>...>(std::forward<Args>(args)...);
    }
};

/// A handler that calls a function with the results of the operation. The value or exception of the function
/// becomes the result of a promise.
template <class F, class... Args>
class packaged_handler {
public:
    using result = std::invoke_result_t<F, Args...>;

    explicit packaged_handler(F f) : f_(std::move(f)) {}
    [[nodiscard]] future<result> get_future() { return promise_.get_future(); }

    void operator()(Args... args) noexcept {
        try {
            if constexpr (std::is_void_v<result>) {
                std::invoke(std::move(f_), std::forward<Args>(args)...);
                promise_.set_value();
            } else {
                promise_.set_value(std::invoke(std::move(f_), std::forward<Args>(args)...));
            }
        } catch (...) {
            fail(std::current_exception());
        }
    }

protected:
    void fail(std::exception_ptr why) noexcept { promise_.set_exception(std::move(why)); }

private:
    promise<result> promise_;
    F f_;
};

/// A handler that stores the results of the operation in a promise.
template <class... Args>
class promise_handler : public packaged_handler<as_one_result, Args...> {
public:
    promise_handler() : packaged_handler<as_one_result, Args...>(as_one_result()) {}
};

template <failure First, class... Args>
class promise_handler<First, Args...> : public promise_handler<Args...> {
public:
    void operator()(First error, Args... args) noexcept {
        if (auto exception = detail::exception_of(std::move(error)))
            this->fail(std::move(exception));
        else
            promise_handler<Args...>::operator()(std::forward<Args>(args)...);
    }
};

template <class F>
struct packaged_token {
    F f;
};

} // namespace detail

/// The type of use_future.
struct use_future_t {
    explicit constexpr use_future_t() = default;

    /// Returns a token for the function `f`. The operation calls `f` with its results. The value or exception
    /// of `f` becomes the result of the future.
    template <class F>
    [[nodiscard]] detail::packaged_token<std::decay_t<F>> operator()(F&& f) const {
        return {std::forward<F>(f)};
    }
};

/// A token with which an operation returns an ekiden::future. An operation without a result returns a
/// future<void>. A single result becomes the value of the future, and several results become a tuple. If the
/// first argument of the handler is a std::error_code or a std::exception_ptr, it is not a result. If this
/// argument reports a failure, get() throws the failure. An error code is thrown as a std::system_error. If
/// the operation destroys its handler without calling it, the future throws
/// std::future_error(broken_promise).
inline constexpr use_future_t use_future{};

template <class R, class... Args>
class async_result<use_future_t, R(Args...)> {
public:
    template <class Initiation, class... InitiationArgs>
    static auto initiate(Initiation&& initiation, use_future_t, InitiationArgs&&... args) {
        detail::promise_handler<Args...> handler;
        auto result = handler.get_future();
        std::forward<Initiation>(initiation)(std::move(handler), std::forward<InitiationArgs>(args)...);
        return result;
    }
};

template <class F, class R, class... Args>
class async_result<detail::packaged_token<F>, R(Args...)> {
public:
    template <class Initiation, class Token, class... InitiationArgs>
    static auto initiate(Initiation&& initiation, Token&& token, InitiationArgs&&... args) {
        detail::packaged_handler<F, Args...> handler(std::forward<Token>(token).f);
        auto result = handler.get_future();
        std::forward<Initiation>(initiation)(std::move(handler), std::forward<InitiationArgs>(args)...);
        return result;
    }
};

} // namespace ekiden::inline EKIDEN_ABI
