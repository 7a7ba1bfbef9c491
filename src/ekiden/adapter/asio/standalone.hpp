/// Connects to Asio without Boost (1.18 or newer): executors in both directions, and Asio's operations in
/// coroutines of this library.
///
/// Part: adapter. Used by: programs that have Asio. Not part of <ekiden/ekiden.hpp>; docs/with-asio.md.
#pragma once

#include <ekiden/adapter/asio/await_asio.hpp>
#include <ekiden/adapter/asio/from_asio.hpp>
#include <ekiden/adapter/asio/to_asio.hpp>
#include <ekiden/async/use_awaitable.hpp>

#include <asio/async_result.hpp>
#include <asio/basic_waitable_timer.hpp>
#include <asio/error.hpp>
#include <asio/execution.hpp>
#include <asio/execution_context.hpp>
#include <asio/io_context.hpp>
#include <asio/prefer.hpp>
#include <asio/query.hpp>
#include <asio/require.hpp>
#include <asio/version.hpp>
#if __has_include(<asio/execution/inline_exception_handling.hpp>)
#define EKIDEN_ASIO_HAS_INLINE_EXCEPTIONS
#include <asio/execution/inline_exception_handling.hpp>
#endif
#if ASIO_VERSION >= 101900
#include <asio/cancellation_signal.hpp>
#endif
#if ASIO_VERSION >= 102200 && defined(ASIO_HAS_THREADS) && !defined(ASIO_HAS_IOCP)
#define EKIDEN_ASIO_HAS_EVENTS
#include <asio/detail/reactor.hpp>
#include <asio/detail/scheduler.hpp>
#endif

#include <chrono>
#include <concepts>
#include <utility>

namespace ekiden::inline EKIDEN_ABI {

/// The names of Asio without Boost, for the adapter's templates.
struct standalone_asio {
    using execution_context = ::asio::execution_context;
    using blocking_t = ::asio::execution::blocking_t;
    using relationship_t = ::asio::execution::relationship_t;
    using outstanding_work_t = ::asio::execution::outstanding_work_t;
    using mapping_t = ::asio::execution::mapping_t;
    using context_t = ::asio::execution::context_t;
#if defined(EKIDEN_ASIO_HAS_INLINE_EXCEPTIONS)
    using inline_exception_handling_t = ::asio::execution::inline_exception_handling_t;
    using captures_exceptions_t = inline_exception_handling_t::capture_t;
#else // this Asio has no such property
    struct inline_exception_handling_t {};
    using captures_exceptions_t = inline_exception_handling_t;
#endif
    template <class Allocator>
    using allocator_t = ::asio::execution::allocator_t<Allocator>;

    using error_code = ::asio::error_code;
    static error_code operation_aborted() noexcept { return ::asio::error::operation_aborted; }

#if ASIO_VERSION >= 101900
    using cancellation_signal = ::asio::cancellation_signal;
    using cancellation_slot = ::asio::cancellation_slot;
    static void cancel(cancellation_signal& signal) { signal.emit(::asio::cancellation_type::all); }
#else // operations cannot be canceled one by one: they complete as they would without a stop
    struct cancellation_slot {};
    struct cancellation_signal {
        static cancellation_slot slot() noexcept { return {}; }
    };
    static void cancel(cancellation_signal&) noexcept {}
#endif

#if defined(EKIDEN_ASIO_HAS_EVENTS) // the parts of asio_events
    using scheduler = ::asio::detail::scheduler;
    using scheduler_task = ::asio::detail::scheduler_task;
    using scheduler_operations = ::asio::detail::op_queue<scheduler::operation>;
    static scheduler_task& reactor_of(execution_context& context) {
#if defined(ASIO_HAS_IO_URING_AS_DEFAULT)
        return ::asio::use_service<::asio::detail::io_uring_service>(context);
#else
        return ::asio::use_service<::asio::detail::reactor>(context);
#endif
    }
    template <class Executor>
    using timer = ::asio::basic_waitable_timer<std::chrono::steady_clock,
                                               ::asio::wait_traits<std::chrono::steady_clock>, Executor>;
    template <class Service, class... Args>
    static Service& make_service(execution_context& context, Args&&... args) {
        return ::asio::make_service<Service>(context, std::forward<Args>(args)...);
    }
#endif

    template <class Service>
    static Service& use_service(execution_context& context) {
        return ::asio::use_service<Service>(context);
    }
    /// Ends and joins the thread that Asio gives a context that is not an io_context, if there is one, and
    /// drops what is queued there. The thread belongs to the service behind an io_context, which may be shut
    /// down again.
    static void join_own_thread(execution_context& context) {
        using impl = ::asio::detail::io_context_impl;
        if (::asio::has_service<impl>(context)) ::asio::use_service<impl>(context).shutdown();
    }
    template <class E>
    static execution_context& context_of(const E& e) {
        return ::asio::query(e, ::asio::execution::context);
    }
    template <class Allocator>
    static allocator_t<Allocator> allocator(const Allocator& given) {
        return ::asio::execution::allocator(given);
    }
    template <class E, class Property>
    static auto require(const E& e, const Property& property) {
        return ::asio::require(e, property);
    }
    template <class E, class Property>
    static auto prefer(const E& e, const Property& property) {
        return ::asio::prefer(e, property);
    }
    template <class E, class F>
    static void execute(const E& e, F&& f) {
#if ASIO_VERSION < 102400 // the executors' own function is private in these versions
        ::asio::execution::execute(e, std::forward<F>(f));
#else
        e.execute(std::forward<F>(f));
#endif
    }
};

/// An executor of Asio's for an executor of this library: asio::post(asio_executor(pool.get_executor()), f).
/// See to_asio_executor.
template <executor Executor>
using asio_executor_type = to_asio_executor<standalone_asio, Executor>;
/// Returns the executor of Asio's for an executor.
template <executor Executor>
[[nodiscard]] asio_executor_type<Executor> asio_executor(const Executor& inner) noexcept {
    return asio_executor_type<Executor>(inner);
}
/// Returns the executor of Asio's for a context's executor.
template <std::derived_from<execution_context> Context>
[[nodiscard]] auto asio_executor(Context& context) noexcept {
    return asio_executor(context.get_executor());
}

/// Returns an executor of this library for an executor of Asio's. See from_asio_executor. Throws
/// std::bad_alloc. Example: ekiden::strand s(from_asio(io.get_executor())).
template <class AsioExecutor>
    requires requires(const AsioExecutor& e) {
        { ::asio::query(e, ::asio::execution::context) } -> std::convertible_to<::asio::execution_context&>;
    }
[[nodiscard]] auto from_asio(const AsioExecutor& inner) {
    return from_asio_executor<standalone_asio, AsioExecutor>(inner);
}
/// Returns the executor for a context of Asio's.
template <std::derived_from<::asio::execution_context> Context>
[[nodiscard]] auto from_asio(Context& context) {
    return from_asio(context.get_executor());
}

} // namespace ekiden::inline EKIDEN_ABI

/// `co_await socket.async_read_some(buffer, ekiden::use_awaitable)`, in a coroutine of this library: starts
/// the operation and waits until it has completed. Returns the results: nothing, the single result, or a
/// tuple. A leading error is thrown as std::system_error. With use_awaitable.as_tuple the result is a tuple
/// of all, including the error.
///
/// The coroutine resumes on its executor. Each step of a composed operation runs there, too. A stop cancels
/// the operation by its cancellation slot (all types), between two of its steps. An operation that is awaited
/// after a stop does not begin: it completes with operation_aborted, or throws operation_canceled. An
/// operation that Asio drops destroys the coroutine.
template <class R, class... Args>
class asio::async_result<ekiden::use_awaitable_t, R(Args...)>
    : public ekiden::detail::asio_await_result<ekiden::standalone_asio, true, Args...> {};
template <class R, class... Args>
class asio::async_result<ekiden::use_awaitable_t::tuple_t, R(Args...)>
    : public ekiden::detail::asio_await_result<ekiden::standalone_asio, false, Args...> {};
