/// Lets coroutines of this library await operations of Asio.
///
/// Part: adapter. Used by: adapter/asio/standalone.hpp, adapter/asio/boost.hpp. These headers make
/// use_awaitable and use_awaitable.as_tuple completion tokens for Asio.
#pragma once

#include <ekiden/adapter/asio/asio_operation.hpp>
#include <ekiden/adapter/asio/recycling_allocator.hpp>
#include <ekiden/adapter/asio/to_asio.hpp>
#include <ekiden/async/detail/frame.hpp>
#include <ekiden/future/operation_canceled.hpp>
#include <ekiden/sys/contract.hpp>

#include <coroutine>
#include <exception>
#include <optional>
#include <system_error>
#include <tuple>
#include <type_traits>
#include <utility>

namespace ekiden::inline EKIDEN_ABI::detail {

/// An operation of Asio and the results of the operation. The recycler provides the memory, as for coroutine
/// frames.
template <class Asio, class... Args>
class asio_operation_of final : public asio_operation, public pooled_frame {
public:
    using results = std::tuple<std::decay_t<Args>...>;
    using executor_type = to_asio_executor<Asio, any_executor>;

    asio_operation_of() noexcept : asio_operation(&cancel, &end) {}

    // The executor of the handler is stored here, because Asio moves the handler several times.
    std::optional<executor_type> executor;
    std::optional<results> kept;
    std::exception_ptr error;                  // the exception of a copy of the results, or null
    typename Asio::cancellation_signal signal; // is used only if the operation can be stopped

private:
    static void cancel(asio_operation& self) noexcept {
        Asio::cancel(static_cast<asio_operation_of&>(self).signal);
    }
    static void end(asio_operation& self) noexcept { delete static_cast<asio_operation_of*>(&self); }
};

/// The handler that Asio calls when the operation has completed. The handler and all steps of a composed
/// operation run on the coroutine's executor.
template <class Asio, class... Args>
class asio_handler {
    using operation = asio_operation_of<Asio, Args...>;

public:
    using executor_type = typename operation::executor_type;
    using allocator_type = recycling_allocator<void>;
    using cancellation_slot_type = typename Asio::cancellation_slot;

    explicit asio_handler(operation& of) : handle_(of) {
        of.executor.emplace(executor_type::of_handler(of.home(), of.is_work_of_root()));
    }

    [[nodiscard]] const executor_type& get_executor() const noexcept { return *own().executor; }
    [[nodiscard]] allocator_type get_allocator() const noexcept { return {}; }
    [[nodiscard]] cancellation_slot_type get_cancellation_slot() const noexcept {
        return own().can_be_stopped() ? own().signal.slot() : cancellation_slot_type();
    }

    void operator()(Args... args) {
        try {
            own().kept.emplace(std::forward<Args>(args)...);
        } catch (...) {
            own().error = std::current_exception();
        }
        handle_.finish(true);
    }

private:
    [[nodiscard]] operation& own() const noexcept { return static_cast<operation&>(*handle_); }

    operation_handle handle_;
};

/// Whether the first result of an operation can report a failure.
template <class Asio, class... Args>
inline constexpr bool asio_says_failure = false;
template <class Asio, class First, class... Rest>
inline constexpr bool asio_says_failure<Asio, First, Rest...> =
    std::same_as<std::decay_t<First>, typename Asio::error_code>
    || std::same_as<std::decay_t<First>, std::exception_ptr>;

/// Throws an exception if `error` reports a failure. `is_asked_for` is true if a stop has been requested.
template <class Asio>
void throw_failure(const std::exception_ptr& error, bool) {
    if (error) std::rethrow_exception(error);
}
template <class Asio>
void throw_failure(const typename Asio::error_code& error, bool is_asked_for) {
    if (!error) return;
    // Asio's error operation_aborted does not compare equal to std::errc::operation_canceled.
    if (is_asked_for && error == Asio::operation_aborted()) throw operation_canceled("co_await of Asio's");
    throw std::system_error(static_cast<std::error_code>(error));
}

/// Returns a result for an operation that has not begun. The result is a default-constructed value. If the
/// type has no default constructor, as in the case of a socket with its own executor type, the result is
/// constructed from the executor of the operation.
template <class T, class Initiation>
[[nodiscard]] T unbegun(const Initiation& initiation) {
    if constexpr (std::is_default_constructible_v<T>)
        return T();
    else
        return T(initiation.get_executor());
}
template <class T, class Initiation>
inline constexpr bool has_unbegun =
    std::is_default_constructible_v<T> || requires(const Initiation& from) { T(from.get_executor()); };

/// An operation of Asio and the arguments of the operation. co_await starts the operation on the coroutine's
/// executor. The recycler provides the memory for the state of the operation. If `Throws` is true, the
/// co_await throws a failure as an exception, and the result does not contain the error. Otherwise the result
/// is a tuple of all results, including the error.
template <class Asio, bool Throws, class Initiation, class InitiationArgs, class... Args>
class [[nodiscard]] asio_awaitable {
    using operation = asio_operation_of<Asio, Args...>;
    static constexpr bool says_failure = asio_says_failure<Asio, Args...>;

public:
    static constexpr bool comes_home = true;

    template <class I, class... A>
    explicit asio_awaitable(std::in_place_t, I&& initiation, A&&... args)
        : initiation_(std::forward<I>(initiation)), args_(std::forward<A>(args)...) {}
    /// The awaitable may be moved until a coroutine awaits it.
    asio_awaitable(asio_awaitable&& other) noexcept(std::is_nothrow_move_constructible_v<InitiationArgs>)
        : initiation_(std::move(other.initiation_)), args_(std::move(other.args_)),
          operation_(std::exchange(other.operation_, nullptr)) {}
    asio_awaitable& operator=(asio_awaitable&&) = delete;
    ~asio_awaitable() {
        if (operation_ != nullptr) operation_->leave();
    }

    [[nodiscard]] static bool await_ready() noexcept { return false; }

    /// Throws std::bad_alloc, and whatever Asio throws when it starts the operation.
    template <class Promise>
    [[nodiscard]] bool await_suspend(std::coroutine_handle<Promise> waiting) {
        sys::expects(operation_ == nullptr, "co_await: this operation of Asio has been awaited before");
        operation& own = *new operation;
        operation_ = &own;
        if (own.bind(waiting) && says_failure) { // a stopped coroutine begins no operation
            own.end_stopped();
            return true;
        }
        std::apply(
            [&](auto&... each) {
                std::move(initiation_)(asio_handler<Asio, Args...>(own), std::move(each)...);
            },
            args_);
        return own.begin_waiting();
    }

    auto await_resume() {
        operation& own = *operation_;
        own.disarm();
        const stop_state* const stop = own.env().stop;
        const bool is_asked_for = stop != nullptr && stop->stop_requested();
        if (own.error != nullptr) std::rethrow_exception(std::move(own.error));
        if (!own.kept) stopped();
        typename operation::results& results = *own.kept;
        if constexpr (Throws && says_failure) {
            detail::throw_failure<Asio>(std::get<0>(results), is_asked_for);
            return unwrapped<1>(results, std::make_index_sequence<sizeof...(Args) - 1>());
        } else if constexpr (Throws) {
            return unwrapped<0>(results, std::index_sequence_for<Args...>());
        } else {
            return typename operation::results(std::move(results));
        }
    }

private:
    /// Sets the result of an operation that did not begin because of a stop request.
    void stopped() {
        if constexpr (says_failure && !Throws && (has_unbegun<std::decay_t<Args>, Initiation> && ...)) {
            if constexpr (!std::same_as<std::tuple_element_t<0, typename operation::results>,
                                        std::exception_ptr>) {
                operation_->kept.emplace(detail::unbegun<std::decay_t<Args>>(initiation_)...);
                std::get<0>(*operation_->kept) = Asio::operation_aborted();
                return;
            }
        }
        throw operation_canceled("co_await of Asio's");
    }

    template <std::size_t From, std::size_t... I>
    static auto unwrapped(typename operation::results& results, std::index_sequence<I...>) {
        if constexpr (sizeof...(I) == 1)
            return std::get<From>(std::move(results));
        else if constexpr (sizeof...(I) > 1)
            return std::tuple<std::tuple_element_t<From + I, typename operation::results>...>(
                std::get<From + I>(std::move(results))...);
    }

    Initiation initiation_;
    InitiationArgs args_;
    operation* operation_ = nullptr;
};

/// Implements Asio's async_result for a signature R(Args...).
template <class Asio, bool Throws, class... Args>
struct asio_await_result {
    template <class Initiation, class Token, class... InitiationArgs>
    [[nodiscard]] static auto initiate(Initiation&& initiation, Token&&, InitiationArgs&&... args) {
        return asio_awaitable<Asio, Throws, std::decay_t<Initiation>,
                              std::tuple<std::decay_t<InitiationArgs>...>, Args...>(
            std::in_place, std::forward<Initiation>(initiation), std::forward<InitiationArgs>(args)...);
    }
};

} // namespace ekiden::inline EKIDEN_ABI::detail
