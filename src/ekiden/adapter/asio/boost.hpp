/// Connects to Boost.Asio (of Boost 1.74 or newer): executors in both directions, and Asio's operations in
/// coroutines of this library.
///
/// Part: adapter. Used by: programs that have Boost. Not part of <ekiden/ekiden.hpp>; docs/with-asio.md.
#pragma once

#include <ekiden/adapter/asio/await_asio.hpp>
#include <ekiden/adapter/asio/from_asio.hpp>
#include <ekiden/adapter/asio/to_asio.hpp>
#include <ekiden/async/use_awaitable.hpp>

#include <boost/asio/async_result.hpp>
#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/execution.hpp>
#include <boost/asio/execution_context.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/prefer.hpp>
#include <boost/asio/query.hpp>
#include <boost/asio/require.hpp>
#include <boost/asio/version.hpp>
#if __has_include(<boost/asio/execution/inline_exception_handling.hpp>)
#define EKIDEN_BOOST_ASIO_HAS_INLINE_EXCEPTIONS
#include <boost/asio/execution/inline_exception_handling.hpp>
#endif
#if BOOST_ASIO_VERSION >= 101900
#include <boost/asio/cancellation_signal.hpp>
#endif
#if BOOST_ASIO_VERSION >= 102200 && defined(BOOST_ASIO_HAS_THREADS) && !defined(BOOST_ASIO_HAS_IOCP)
#define EKIDEN_BOOST_ASIO_HAS_EVENTS
#include <boost/asio/detail/reactor.hpp>
#include <boost/asio/detail/scheduler.hpp>
#endif

#include <chrono>
#include <concepts>
#include <utility>

namespace ekiden::inline EKIDEN_ABI {

/// The names of Boost.Asio, for the adapter's templates.
struct boost_asio {
    using execution_context = ::boost::asio::execution_context;
    using blocking_t = ::boost::asio::execution::blocking_t;
    using relationship_t = ::boost::asio::execution::relationship_t;
    using outstanding_work_t = ::boost::asio::execution::outstanding_work_t;
    using mapping_t = ::boost::asio::execution::mapping_t;
    using context_t = ::boost::asio::execution::context_t;
#if defined(EKIDEN_BOOST_ASIO_HAS_INLINE_EXCEPTIONS)
    using inline_exception_handling_t = ::boost::asio::execution::inline_exception_handling_t;
    using captures_exceptions_t = inline_exception_handling_t::capture_t;
#else // this Asio has no such property
    struct inline_exception_handling_t {};
    using captures_exceptions_t = inline_exception_handling_t;
#endif
    template <class Allocator>
    using allocator_t = ::boost::asio::execution::allocator_t<Allocator>;

    using error_code = ::boost::system::error_code;
    static error_code operation_aborted() noexcept { return ::boost::asio::error::operation_aborted; }

#if BOOST_ASIO_VERSION >= 101900
    using cancellation_signal = ::boost::asio::cancellation_signal;
    using cancellation_slot = ::boost::asio::cancellation_slot;
    static void cancel(cancellation_signal& signal) { signal.emit(::boost::asio::cancellation_type::all); }
#else // operations cannot be canceled one by one: they complete as they would without a stop
    struct cancellation_slot {};
    struct cancellation_signal {
        static cancellation_slot slot() noexcept { return {}; }
    };
    static void cancel(cancellation_signal&) noexcept {}
#endif

#if defined(EKIDEN_BOOST_ASIO_HAS_EVENTS) // the parts of asio_events
    using scheduler = ::boost::asio::detail::scheduler;
    using scheduler_task = ::boost::asio::detail::scheduler_task;
    using scheduler_operations = ::boost::asio::detail::op_queue<scheduler::operation>;
    static scheduler_task& reactor_of(execution_context& context) {
#if defined(BOOST_ASIO_HAS_IO_URING_AS_DEFAULT)
        return ::boost::asio::use_service<::boost::asio::detail::io_uring_service>(context);
#else
        return ::boost::asio::use_service<::boost::asio::detail::reactor>(context);
#endif
    }
    template <class Executor>
    using timer =
        ::boost::asio::basic_waitable_timer<std::chrono::steady_clock,
                                            ::boost::asio::wait_traits<std::chrono::steady_clock>, Executor>;
    template <class Service, class... Args>
    static Service& make_service(execution_context& context, Args&&... args) {
        return ::boost::asio::make_service<Service>(context, std::forward<Args>(args)...);
    }
#endif

    template <class Service>
    static Service& use_service(execution_context& context) {
        return ::boost::asio::use_service<Service>(context);
    }
    /// Ends and joins the thread that Asio gives a context that is not an io_context, if there is one, and
    /// drops what is queued there. The thread belongs to the service behind an io_context, which may be shut
    /// down again.
    static void join_own_thread(execution_context& context) {
        using impl = ::boost::asio::detail::io_context_impl;
        if (::boost::asio::has_service<impl>(context)) ::boost::asio::use_service<impl>(context).shutdown();
    }
    template <class E>
    static execution_context& context_of(const E& e) {
        return ::boost::asio::query(e, ::boost::asio::execution::context);
    }
    template <class Allocator>
    static allocator_t<Allocator> allocator(const Allocator& given) {
        return ::boost::asio::execution::allocator(given);
    }
    template <class E, class Property>
    static auto require(const E& e, const Property& property) {
        return ::boost::asio::require(e, property);
    }
    template <class E, class Property>
    static auto prefer(const E& e, const Property& property) {
        return ::boost::asio::prefer(e, property);
    }
    template <class E, class F>
    static void execute(const E& e, F&& f) {
#if BOOST_ASIO_VERSION < 102400 // the executors' own function is private in these versions
        ::boost::asio::execution::execute(e, std::forward<F>(f));
#else
        e.execute(std::forward<F>(f));
#endif
    }
};

/// An executor of Asio's for an executor of this library:
/// boost::asio::post(boost_asio_executor(pool.get_executor()), f). See to_asio_executor.
template <executor Executor>
using boost_asio_executor_type = to_asio_executor<boost_asio, Executor>;
/// Returns the executor of Asio's for an executor.
template <executor Executor>
[[nodiscard]] boost_asio_executor_type<Executor> boost_asio_executor(const Executor& inner) noexcept {
    return boost_asio_executor_type<Executor>(inner);
}
/// Returns the executor of Asio's for a context's executor.
template <std::derived_from<execution_context> Context>
[[nodiscard]] auto boost_asio_executor(Context& context) noexcept {
    return boost_asio_executor(context.get_executor());
}

/// Returns an executor of this library for an executor of Asio's. See from_asio_executor. Throws
/// std::bad_alloc. Example: ekiden::strand s(from_asio(io.get_executor())).
template <class AsioExecutor>
    requires requires(const AsioExecutor& e) {
        {
            ::boost::asio::query(e, ::boost::asio::execution::context)
        } -> std::convertible_to<::boost::asio::execution_context&>;
    }
[[nodiscard]] auto from_asio(const AsioExecutor& inner) {
    return from_asio_executor<boost_asio, AsioExecutor>(inner);
}
/// Returns the executor for a context of Asio's.
template <std::derived_from<::boost::asio::execution_context> Context>
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
class boost::asio::async_result<ekiden::use_awaitable_t, R(Args...)>
    : public ekiden::detail::asio_await_result<ekiden::boost_asio, true, Args...> {};
template <class R, class... Args>
class boost::asio::async_result<ekiden::use_awaitable_t::tuple_t, R(Args...)>
    : public ekiden::detail::asio_await_result<ekiden::boost_asio, false, Args...> {};
