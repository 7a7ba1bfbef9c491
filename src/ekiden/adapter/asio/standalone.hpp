/// Connects to Asio without Boost (1.18 or newer): executors in both directions, and Asio's operations in
/// coroutines of this library.
///
/// Part: adapter. Used by: programs that have Asio. Not part of <ekiden/ekiden.hpp>; docs/with-asio.md.
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
// Private headers of Asio's. asio_events runs the scheduler itself and puts a task of its own in place of the
// reactor. Asio has no public function for either.
#include <asio/detail/reactor.hpp>
#include <asio/detail/scheduler.hpp>
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

} // namespace ekiden::inline EKIDEN_ABI
