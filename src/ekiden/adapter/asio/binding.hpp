/// What the adapters for Asio with and without Boost have in common: the names of Asio, from_asio(), and
/// use_awaitable as a token for Asio's operations.
///
/// Part: adapter. Used by: programs, through boost.hpp and standalone.hpp. These include the headers of Asio
/// and define:
///   EKIDEN_ASIO             the namespace of Asio
///   EKIDEN_ASIO_NAMES       the name of the struct for the templates of the adapter
///   EKIDEN_ASIO_VERSION     Asio's own version number: 101900 is 1.19.0
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

/// The names of this Asio, for the adapter's templates.
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
#else // this Asio has no such property
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
#else // operations cannot be canceled one by one: they complete as they would without a stop
    struct cancellation_slot {};
    struct cancellation_signal {
        static cancellation_slot slot() noexcept { return {}; }
    };
    static void cancel(cancellation_signal&) noexcept {}
#endif

#if defined(EKIDEN_ASIO_HAS_EVENTS) // the parts of asio_events
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

    template <class Service>
    static Service& use_service(execution_context& context) {
        return EKIDEN_ASIO::use_service<Service>(context);
    }
    /// Ends and joins the thread that Asio gives a context that is not an io_context, if there is one, and
    /// drops what is queued there. The thread belongs to the service behind an io_context, which may be shut
    /// down again.
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
#if EKIDEN_ASIO_VERSION < 102400 // the executors' own function is private in these versions
        EKIDEN_ASIO::execution::execute(e, std::forward<F>(f));
#else
        e.execute(std::forward<F>(f));
#endif
    }
};

/// Returns an executor of this library for an executor of Asio's. See from_asio_executor. Throws
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
/// Returns the executor for a context of Asio's.
template <std::derived_from<EKIDEN_ASIO::execution_context> Context>
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
class EKIDEN_ASIO::async_result<ekiden::use_awaitable_t, R(Args...)>
    : public ekiden::detail::asio_await_result<ekiden::EKIDEN_ASIO_NAMES, true, Args...> {};
template <class R, class... Args>
class EKIDEN_ASIO::async_result<ekiden::use_awaitable_t::tuple_t, R(Args...)>
    : public ekiden::detail::asio_await_result<ekiden::EKIDEN_ASIO_NAMES, false, Args...> {};
