/// Lets a function that is not a coroutine wait for an awaitable.
///
/// Part: async. Used by: programs and tests.
#pragma once

#include <ekiden/async/co_spawn.hpp>
#include <ekiden/async/detail/burials.hpp>
#include <ekiden/async/detail/coroutine_service.hpp>
#include <ekiden/pool/default_pool.hpp>

#include <concepts>
#include <type_traits>
#include <utility>

namespace ekiden::inline EKIDEN_ABI {

namespace detail {

/// Throws std::system_error(resource_deadlock_would_occur) if the calling thread runs a function of a strand
/// or a lane.
void refuse_wait_in_serial_scope();

/// Completes the future of the coroutine. After the future has been completed, the destructor ends the wait
/// of the thread in sync_wait().
template <class T>
struct tells_wait : root_wait::root_end, fulfils_promise<T> {
    explicit tells_wait(root_wait& told) noexcept : root_wait::root_end(told) {}
};

} // namespace detail

/// Calls `f()` on the executor `where`, and awaits the result of the call. The result must be a coroutine or
/// another awaitable. If `f` is not callable, awaits `f` itself. The calling thread blocks until the await
/// has ended. Returns the result of the await, or throws the exception of the await.
///
/// The calling thread waits in the same way as in future::get(). If the thread is a worker of a pool, it runs
/// other tasks of that pool while it waits. So a pool with only one thread makes progress. Calls of
/// sync_wait() may be nested to any depth. Do not call sync_wait() while you hold a lock.
///
/// Throws std::system_error(resource_deadlock_would_occur) if a function of a strand or a lane calls
/// sync_wait(). During the wait, the strand or lane could run no other function. Throws whatever co_spawn()
/// throws. Throws operation_canceled if an executor refuses or drops the coroutine, or if the context of
/// `where` is destroyed before the coroutine has ended.
///
/// The frame of the coroutine has been destroyed when sync_wait() returns. If the context of `where` has
/// stopped permanently, the waiting thread also destroys the coroutines that this context refuses.
template <executor E, class F>
decltype(auto) sync_wait(const E& where, F&& f, spawn_options chosen = spawn_options()) {
    detail::refuse_wait_in_serial_scope();
    using callable = std::remove_cvref_t<F>;
    // A reference to `f` is enough, because the caller waits until the coroutine has ended.
    const auto awaited = [&f]() -> decltype(auto) {
        if constexpr (std::invocable<callable&>)
            return f();
        else
            return std::forward<F>(f);
    };
    using result = typename detail::spawned_result<std::remove_cv_t<decltype(awaited)>>::type;
    detail::root_wait waiting(ekiden::use_service<detail::coroutine_service>(where.context()).buried());
    detail::tells_wait<result> end(waiting);
    auto awaited_result = end.promised.get_future();
    detail::begin_spawned(where, awaited, std::move(end), chosen);
    waiting.wait();
    return awaited_result.get();
}

/// Calls sync_wait() with an executor of this_pool(). If the calling thread is a worker of a pool,
/// this_pool() is that pool. For every other thread, this_pool() is default_pool().
template <class F>
    requires(!executor<std::remove_cvref_t<F>>
             && !requires { typename std::remove_cvref_t<F>::sender_concept; }) // a sender
decltype(auto) sync_wait(F&& f, spawn_options chosen = spawn_options()) {
    detail::refuse_wait_in_serial_scope(); // this check is first, because this_pool() may start a pool
    return ekiden::sync_wait(this_pool().get_executor(), std::forward<F>(f), std::move(chosen));
}

} // namespace ekiden::inline EKIDEN_ABI
