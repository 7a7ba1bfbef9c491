/// Connects this library to Boost.Asio (Boost 1.74 or newer). The adapter converts executors in both
/// directions, and lets coroutines of this library await Asio's operations.
///
/// Part: adapter. Used by: programs that use Boost. <ekiden/ekiden.hpp> does not include this header. The
/// guide is docs/with-asio.md.
#pragma once

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
#define EKIDEN_ASIO_HAS_INLINE_EXCEPTIONS
#include <boost/asio/execution/inline_exception_handling.hpp>
#endif
#if BOOST_ASIO_VERSION >= 101900
#include <boost/asio/cancellation_signal.hpp>
#endif
#if BOOST_ASIO_VERSION >= 102200 && defined(BOOST_ASIO_HAS_THREADS) && !defined(BOOST_ASIO_HAS_IOCP)
#define EKIDEN_ASIO_HAS_EVENTS
// The next two headers are private headers of Asio. The class asio_events needs these headers, because the
// class runs Asio's scheduler directly. The class also replaces the scheduler's task for the reactor. Asio
// has no public functions for this purpose.
#include <boost/asio/detail/reactor.hpp>
#include <boost/asio/detail/scheduler.hpp>
#endif
#if defined(BOOST_ASIO_HAS_IOCP)
#define EKIDEN_ASIO_HAS_COMPLETION_PORT
#endif
#if defined(BOOST_ASIO_HAS_IO_URING_AS_DEFAULT)
#define EKIDEN_ASIO_HAS_IO_URING
#endif

#define EKIDEN_ASIO boost::asio
#define EKIDEN_ASIO_NAMES boost_asio
#define EKIDEN_ASIO_VERSION BOOST_ASIO_VERSION
#define EKIDEN_ASIO_ERROR_CODE ::boost::system::error_code
#include <ekiden/adapter/asio/binding.hpp>

namespace ekiden::inline EKIDEN_ABI {

/// An Asio executor that posts to an executor of this library. See to_asio_executor. Example:
/// boost::asio::post(boost_asio_executor(pool.get_executor()), f).
template <executor Executor>
using boost_asio_executor_type = to_asio_executor<boost_asio, Executor>;
/// Returns an Asio executor that posts to `inner`.
template <executor Executor>
[[nodiscard]] boost_asio_executor_type<Executor> boost_asio_executor(const Executor& inner) noexcept {
    return boost_asio_executor_type<Executor>(inner);
}
/// Returns an Asio executor that posts to `context`.
template <std::derived_from<execution_context> Context>
[[nodiscard]] auto boost_asio_executor(Context& context) noexcept {
    return ekiden::boost_asio_executor(context.get_executor());
}

} // namespace ekiden::inline EKIDEN_ABI
