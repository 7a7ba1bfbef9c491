/// Waits for an awaitable in a function that is no coroutine.
///
/// Part: async. Used by: programs (main), tests.
#pragma once

#include <ekiden/async/co_spawn.hpp>
#include <ekiden/async/operation_canceled.hpp>
#include <ekiden/context/serial_scope.hpp>
#include <ekiden/pool/default_pool.hpp>

#include <future>
#include <system_error>
#include <type_traits>
#include <utility>

namespace ekiden::inline EKIDEN_ABI {

namespace detail {

/// Throws std::system_error(resource_deadlock_would_occur) inside of a strand or a lane.
void refuse_wait_in_serial_scope();

} // namespace detail

/// Awaits what `f()` returns, or `f` itself, on the executor `where`, and returns its result or throws what
/// it has thrown. The calling thread waits as future::get() does: in a worker of a pool it runs other tasks
/// of that pool meanwhile, to any depth, so that a pool of one thread gets on. Do not call it with a lock
/// held. Throws std::system_error(resource_deadlock_would_occur) in a function of a strand or a lane, which
/// would not get on before it returns; as co_spawn(); and operation_canceled if the context of `where` ends
/// before the coroutine.
template <executor E, class F>
decltype(auto) sync_wait(const E& where, F&& f, spawn_options chosen = spawn_options()) {
    detail::refuse_wait_in_serial_scope();
    using callable = std::remove_cvref_t<F>;
    // By reference: the caller waits.
    const auto awaited = [&f]() -> decltype(auto) {
        if constexpr (std::invocable<callable&>)
            return f();
        else
            return std::forward<F>(f);
    };
    auto result = co_spawn(where, awaited, use_future, std::move(chosen));
    try {
        return result.get();
    } catch (const std::future_error& error) {
        if (error.code() != std::future_errc::broken_promise) throw;
        throw operation_canceled("sync_wait: the context has ended before the coroutine");
    }
}

/// The same in the pool whose worker the calling thread is, or else in default_pool().
template <class F>
    requires(!executor<std::remove_cvref_t<F>>)
decltype(auto) sync_wait(F&& f, spawn_options chosen = spawn_options()) {
    detail::refuse_wait_in_serial_scope(); // before a pool is started for it
    return sync_wait(this_pool().get_executor(), std::forward<F>(f), std::move(chosen));
}

} // namespace ekiden::inline EKIDEN_ABI
