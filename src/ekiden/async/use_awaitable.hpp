/// A completion token that makes an asynchronous operation awaitable.
///
/// Part: async. Used by: programs. Modeled on use_awaitable of Asio, but without a coroutine for each
/// operation.
#pragma once

#include <ekiden/async/detail/stop_state.hpp>
#include <ekiden/async/detail/suspension.hpp>
#include <ekiden/execution/async_result.hpp>
#include <ekiden/execution/use_future.hpp>
#include <ekiden/future/operation_canceled.hpp>

#include <coroutine>
#include <exception>
#include <optional>
#include <system_error>
#include <tuple>
#include <type_traits>
#include <utility>

namespace ekiden::inline EKIDEN_ABI {

namespace detail {

template <class... Args>
class awaited_results;

/// The part of an awaited operation that does not depend on the types of its results. Only use_awaitable uses
/// this class.
class awaited_operation {
public:
    awaited_operation() noexcept = default;
    awaited_operation(const awaited_operation&) = delete;
    awaited_operation& operator=(const awaited_operation&) = delete;

    /// Resumes the coroutine. The handler calls finish() once, after it has stored the results. After the
    /// call, the handler no longer uses the operation.
    void finish() noexcept { way_home_.resume(); }
    /// Called instead of finish() if there will be no results.
    void drop() noexcept;

protected:
    ~awaited_operation() = default;

    /// Calls `start(argument)`, which starts the operation. The operation may complete inside this call, and
    /// the frame of the coroutine may be destroyed before the call returns.
    void start_by(void (*start)(void* argument), void* argument);

    suspension way_home_;
    bool is_stopped_ = false;
};

/// The completion handler, which resumes the coroutine. The operation may move the handler. If the handler is
/// destroyed without having been called, its destructor calls drop().
template <class... Args>
class resuming_handler {
public:
    explicit resuming_handler(awaited_results<Args...>& awaiter) noexcept : awaiter_(&awaiter) {}
    resuming_handler(resuming_handler&& other) noexcept : awaiter_(std::exchange(other.awaiter_, nullptr)) {}
    resuming_handler& operator=(resuming_handler&& other) noexcept {
        std::swap(awaiter_, other.awaiter_);
        return *this;
    }
    ~resuming_handler() {
        if (awaiter_ != nullptr) awaiter_->drop();
    }

    void operator()(Args... args) noexcept {
        auto* const awaiter = std::exchange(awaiter_, nullptr);
        awaiter->store(std::forward<Args>(args)...);
        awaiter->finish();
    }

private:
    awaited_results<Args...>* awaiter_;
};

/// Stores the results of the operation.
template <class... Args>
class awaited_results : public awaited_operation {
public:
    void store(Args&&... args) noexcept {
        try {
            results_.emplace(std::forward<Args>(args)...);
        } catch (...) { // the move of a result has thrown
            error_ = std::current_exception();
        }
    }

protected:
    [[nodiscard]] std::tuple<std::decay_t<Args>...>& results() {
        if (error_) std::rethrow_exception(error_);
        return *results_;
    }

private:
    std::optional<std::tuple<std::decay_t<Args>...>> results_;
    std::exception_ptr error_;
};

/// Defines the result of an await with use_awaitable. Returns the result, or a tuple if there are several
/// results, or nothing if there is no result. If the first result reports a failure, throws this failure.
struct throwing_form {
    template <class... Results>
    static auto of(std::tuple<Results...>& results) {
        if constexpr (sizeof...(Results) == 0)
            return;
        else
            return first(results, std::index_sequence_for<Results...>());
    }

private:
    template <class First, class... Rest, std::size_t... I>
    static auto first(std::tuple<First, Rest...>& results, std::index_sequence<0, I...>) {
        if constexpr (failure<First>) {
            if (const auto error = detail::exception_of(std::get<0>(results))) std::rethrow_exception(error);
            if constexpr (sizeof...(Rest) == 0)
                return;
            else if constexpr (sizeof...(Rest) == 1)
                return std::get<1>(std::move(results));
            else
                return std::tuple<Rest...>(std::get<I>(std::move(results))...);
        } else if constexpr (sizeof...(Rest) == 0) {
            return std::get<0>(std::move(results));
        } else {
            return std::move(results);
        }
    }
};
/// Defines the result of an await with use_awaitable.as_tuple. Returns all results as a tuple, including
/// errors.
struct tuple_form {
    template <class... Results>
    static std::tuple<Results...> of(std::tuple<Results...>& results) {
        return std::move(results);
    }
};

template <class... Args>
inline constexpr bool says_failure = false;
template <class First, class... Rest>
inline constexpr bool says_failure<First, Rest...> = failure<std::decay_t<First>>;

/// An operation, together with its arguments and its state. The operation starts when it is awaited.
template <class Form, class Initiation, class InitiationArgs, class... Args>
class [[nodiscard]] awaitable_operation final : public awaited_results<Args...> {
public:
    static constexpr bool comes_home = true;

    template <class I, class... A>
    explicit awaitable_operation(std::in_place_t, I&& initiation, A&&... args)
        : initiation_(std::forward<I>(initiation)), args_(std::forward<A>(args)...) {}

    [[nodiscard]] static bool await_ready() noexcept { return false; }

    /// Throws whatever the start of the operation throws.
    template <class Promise>
    void await_suspend(std::coroutine_handle<Promise> waiting) {
        this->way_home_.bind(waiting);
        if constexpr (says_failure<Args...>) {
            const stop_state* const stop = this->way_home_.env().stop;
            if (stop != nullptr && stop->stop_requested()) { // a stopped coroutine starts no operation
                this->is_stopped_ = true;
                return this->way_home_.resume();
            }
        }
        // Move the arguments out of the frame, because the frame may be destroyed before the initiation
        // returns.
        Initiation initiation(std::move(initiation_));
        InitiationArgs args(std::move(args_));
        auto start = [&] {
            std::apply(
                [&](auto&... each) {
                    std::move(initiation)(resuming_handler<Args...>(*this), std::move(each)...);
                },
                args);
        };
        using starting = decltype(start);
        this->start_by([](void* self) { (*static_cast<starting*>(self))(); }, &start);
    }

    auto await_resume() {
        if constexpr (says_failure<Args...>) {
            if (this->is_stopped_) throw operation_canceled("co_await of an operation");
        }
        return Form::of(this->results());
    }

private:
    Initiation initiation_;
    InitiationArgs args_;
};

/// The base class of async_result for use_awaitable and use_awaitable.as_tuple.
template <class Form, class... Args>
struct awaitable_result {
    template <class Initiation, class Token, class... InitiationArgs>
    [[nodiscard]] static auto initiate(Initiation&& initiation, Token&&, InitiationArgs&&... args) {
        return awaitable_operation<Form, std::decay_t<Initiation>,
                                   std::tuple<std::decay_t<InitiationArgs>...>, Args...>(
            std::in_place, std::forward<Initiation>(initiation), std::forward<InitiationArgs>(args)...);
    }
};

} // namespace detail

/// The type of use_awaitable.
struct use_awaitable_t {
    explicit constexpr use_awaitable_t() = default;

    /// The type of use_awaitable.as_tuple. An operation with this token returns a tuple of all its results.
    /// If the first result is an error, the error is part of this tuple and is not thrown.
    struct tuple_t {
        explicit constexpr tuple_t() = default;
    };
    static constexpr tuple_t as_tuple{}; ///< returns a tuple of all results
};

/// `co_await timer.async_wait(use_awaitable)`: starts the operation, and waits until it has completed. The
/// state of the operation lies in the frame of the awaiting coroutine.
///
/// Returns the result, or a tuple if there are several results, or nothing if there is no result. A leading
/// std::error_code or std::exception_ptr is not counted as a result. If the error code or exception pointer
/// reports a failure, the await throws this failure. An error code is thrown as a std::system_error.
///
/// If the coroutine has been stopped, an operation that can report a failure does not start, and the await
/// throws operation_canceled. A stop does not end an operation that has already started. If an operation
/// destroys its handler without calling it, the coroutine is destroyed. With `use_awaitable.as_tuple`, the
/// await throws no failure except operation_canceled.
inline constexpr use_awaitable_t use_awaitable{};

template <class R, class... Args>
class async_result<use_awaitable_t, R(Args...)>
    : public detail::awaitable_result<detail::throwing_form, Args...> {};
template <class R, class... Args>
class async_result<use_awaitable_t::tuple_t, R(Args...)>
    : public detail::awaitable_result<detail::tuple_form, Args...> {};

} // namespace ekiden::inline EKIDEN_ABI
