/// Connects this library to Asio without Boost (version 1.18 or newer). The adapter converts executors in
/// both directions, and lets coroutines of this library await Asio's operations.
///
/// Part: adapter. Used by: programs that use Asio. <ekiden/ekiden.hpp> does not include this header. The
/// guide is docs/with-asio.md.
#pragma once

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
// The next two headers are private headers of Asio. The class asio_events needs these headers, because the
// class runs Asio's scheduler directly. The class also replaces the scheduler's task for the reactor. Asio
// has no public functions for this purpose.
#include <asio/detail/reactor.hpp>
#include <asio/detail/scheduler.hpp>
#endif
#if defined(ASIO_HAS_IOCP)
#define EKIDEN_ASIO_HAS_COMPLETION_PORT
#endif
#if defined(ASIO_HAS_IO_URING_AS_DEFAULT)
#define EKIDEN_ASIO_HAS_IO_URING
#endif

#define EKIDEN_ASIO asio
#define EKIDEN_ASIO_NAMES standalone_asio
#define EKIDEN_ASIO_VERSION ASIO_VERSION
#define EKIDEN_ASIO_ERROR_CODE ::asio::error_code
#include <ekiden/adapter/asio/binding.hpp>

namespace ekiden::inline EKIDEN_ABI {

/// An Asio executor that posts to an executor of this library. See to_asio_executor. Example:
/// asio::post(asio_executor(pool.get_executor()), f).
template <executor Executor>
using asio_executor_type = to_asio_executor<standalone_asio, Executor>;
/// Returns an Asio executor that posts to `inner`.
template <executor Executor>
[[nodiscard]] asio_executor_type<Executor> asio_executor(const Executor& inner) noexcept {
    return asio_executor_type<Executor>(inner);
}
/// Returns an Asio executor that posts to `context`.
template <std::derived_from<execution_context> Context>
[[nodiscard]] auto asio_executor(Context& context) noexcept {
    return ekiden::asio_executor(context.get_executor());
}

} // namespace ekiden::inline EKIDEN_ABI
