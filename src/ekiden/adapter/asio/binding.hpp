/// The common part of the adapters for standalone Asio and Boost.Asio. This header defines the names of Asio,
/// from_asio(), and use_awaitable as a completion token for Asio's operations.
///
/// Part: adapter. Used by: programs, through boost.hpp and standalone.hpp. These two headers include the
/// headers of Asio and define four macros:
///   EKIDEN_ASIO             the namespace of Asio
///   EKIDEN_ASIO_NAMES       the name of the struct that the templates of the adapter use
///   EKIDEN_ASIO_VERSION     the version number of Asio; 101900 means 1.19.0
///   EKIDEN_ASIO_ERROR_CODE  the type of Asio's errors
#pragma once

#include <ekiden/adapter/asio/await_asio.hpp>
#include <ekiden/adapter/asio/from_asio.hpp>
#include <ekiden/adapter/asio/to_asio.hpp>
#include <ekiden/async/use_awaitable.hpp>

#include <chrono>
#include <concepts>
#include <utility>

namespace ekiden::inline EKIDEN_ABI {

/// The names of the included variant of Asio. This struct is an argument of the adapter's templates.
struct EKIDEN_ASIO_NAMES {
    using execution_context = EKIDEN_ASIO::execution_context;
    using blocking_t = EKIDEN_ASIO::execution::blocking_t;
    using relationship_t = EKIDEN_ASIO::execution::relationship_t;
    using outstanding_work_t = EKIDEN_ASIO::execution::outstanding_work_t;
    using mapping_t = EKIDEN_ASIO::execution::mapping_t;
    using context_t = EKIDEN_ASIO::execution::context_t;
#if defined(EKIDEN_ASIO_HAS_INLINE_EXCEPTIONS)
    using inline_exception_handling_t = EKIDEN_ASIO::execution::inline_exception_handling_t;
    using captures_exceptions_t = inline_exception_handling_t::capture_t;
#else // This version of Asio has no such property.
    struct inline_exception_handling_t {};
    using captures_exceptions_t = inline_exception_handling_t;
#endif
    template <class Allocator>
    using allocator_t = EKIDEN_ASIO::execution::allocator_t<Allocator>;

    using error_code = EKIDEN_ASIO_ERROR_CODE;
    static error_code operation_aborted() noexcept { return EKIDEN_ASIO::error::operation_aborted; }

#if EKIDEN_ASIO_VERSION >= 101900
    using cancellation_signal = EKIDEN_ASIO::cancellation_signal;
    using cancellation_slot = EKIDEN_ASIO::cancellation_slot;
    static void cancel(cancellation_signal& signal) { signal.emit(EKIDEN_ASIO::cancellation_type::all); }
#else // This version of Asio cannot cancel a single operation, so a stop request has no effect.
    struct cancellation_slot {};
    struct cancellation_signal {
        static cancellation_slot slot() noexcept { return {}; }
    };
    static void cancel(cancellation_signal&) noexcept {}
#endif

#if defined(EKIDEN_ASIO_HAS_EVENTS) // the names that asio_events uses
    using scheduler = EKIDEN_ASIO::detail::scheduler;
    using scheduler_task = EKIDEN_ASIO::detail::scheduler_task;
    using scheduler_operations = EKIDEN_ASIO::detail::op_queue<scheduler::operation>;
    static scheduler_task& reactor_of(execution_context& context) {
#if defined(EKIDEN_ASIO_HAS_IO_URING)
        return EKIDEN_ASIO::use_service<EKIDEN_ASIO::detail::io_uring_service>(context);
#else
        return EKIDEN_ASIO::use_service<EKIDEN_ASIO::detail::reactor>(context);
#endif
    }
    template <class Executor>
    using timer =
        EKIDEN_ASIO::basic_waitable_timer<std::chrono::steady_clock,
                                          EKIDEN_ASIO::wait_traits<std::chrono::steady_clock>, Executor>;
    template <class Service, class... Args>
    static Service& make_service(execution_context& context, Args&&... args) {
        return EKIDEN_ASIO::make_service<Service>(context, std::forward<Args>(args)...);
    }
#endif

    /// Whether the shutdown of a context waits until its outstanding work has ended.
#if defined(EKIDEN_ASIO_HAS_COMPLETION_PORT)
    static constexpr bool shutdown_waits_for_work = true;
#else
    static constexpr bool shutdown_waits_for_work = false;
#endif

    template <class Service>
    static Service& use_service(execution_context& context) {
        return EKIDEN_ASIO::use_service<Service>(context);
    }
    /// Ends and joins the internal thread of a context, and drops the operations in the thread's queue. Asio
    /// starts such a thread only for a context that is not an io_context. Has no effect if the context has no
    /// internal thread. The thread belongs to the service io_context_impl, whose shutdown() may be called
    /// twice.
    static void join_own_thread(execution_context& context) {
        using impl = EKIDEN_ASIO::detail::io_context_impl;
        if (EKIDEN_ASIO::has_service<impl>(context)) EKIDEN_ASIO::use_service<impl>(context).shutdown();
    }
    template <class E>
    static execution_context& context_of(const E& e) {
        return EKIDEN_ASIO::query(e, EKIDEN_ASIO::execution::context);
    }
    template <class Allocator>
    static allocator_t<Allocator> allocator(const Allocator& given) {
        return EKIDEN_ASIO::execution::allocator(given);
    }
    template <class E, class Property>
    static auto require(const E& e, const Property& property) {
        return EKIDEN_ASIO::require(e, property);
    }
    template <class E, class Property>
    static auto prefer(const E& e, const Property& property) {
        return EKIDEN_ASIO::prefer(e, property);
    }
    template <class E, class F>
    static void execute(const E& e, F&& f) {
#if EKIDEN_ASIO_VERSION < 102400 // In these versions of Asio, execute() of executors is private.
        EKIDEN_ASIO::execution::execute(e, std::forward<F>(f));
#else
        e.execute(std::forward<F>(f));
#endif
    }
};

/// Returns an executor of this library that posts to an executor of Asio. See from_asio_executor. Throws
/// std::bad_alloc. Example: ekiden::strand s(from_asio(io.get_executor())).
template <class AsioExecutor>
    requires requires(const AsioExecutor& e) {
        {
            EKIDEN_ASIO::query(e, EKIDEN_ASIO::execution::context)
        } -> std::convertible_to<EKIDEN_ASIO::execution_context&>;
    }
[[nodiscard]] auto from_asio(const AsioExecutor& inner) {
    return from_asio_executor<EKIDEN_ASIO_NAMES, AsioExecutor>(inner);
}
/// Returns an executor of this library that posts to a context of Asio.
template <std::derived_from<EKIDEN_ASIO::execution_context> Context>
[[nodiscard]] auto from_asio(Context& context) {
    return ekiden::from_asio(context.get_executor());
}

} // namespace ekiden::inline EKIDEN_ABI

/// Awaits an operation of Asio in a coroutine of this library, as in `co_await socket.async_read_some(buffer,
/// ekiden::use_awaitable)`. The co_await starts the operation and waits until the operation has completed.
/// The co_await returns the results of the operation without the leading error code: nothing, a single value,
/// or a tuple. If the error code reports an error, the co_await throws std::system_error instead. With
/// use_awaitable.as_tuple, the co_await returns a tuple of all results, including the error code.
///
/// The coroutine resumes on its own executor. Each step of a composed operation also runs on that executor. A
/// stop request cancels the operation between two steps, through the operation's cancellation slot
/// (cancellation_type::all). If a stop was requested before the co_await, the operation does not begin. In
/// this case, the co_await throws operation_canceled. With use_awaitable.as_tuple, the co_await returns the
/// error operation_aborted instead, if the types of the results allow this. If Asio drops the operation, the
/// coroutine is destroyed.
template <class R, class... Args>
class EKIDEN_ASIO::async_result<ekiden::use_awaitable_t, R(Args...)>
    : public ekiden::detail::asio_await_result<ekiden::EKIDEN_ASIO_NAMES, true, Args...> {};
template <class R, class... Args>
class EKIDEN_ASIO::async_result<ekiden::use_awaitable_t::tuple_t, R(Args...)>
    : public ekiden::detail::asio_await_result<ekiden::EKIDEN_ASIO_NAMES, false, Args...> {};
