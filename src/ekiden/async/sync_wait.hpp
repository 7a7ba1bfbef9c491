/// Waits for an awaitable in a function that is not a coroutine.
///
/// Part: async. Used by: programs (main), tests.
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

/// Throws std::system_error(resource_deadlock_would_occur) inside a strand or a lane.
void refuse_wait_in_serial_scope();

/// Sets the result of the future before it ends the wait.
template <class T>
struct tells_wait : root_wait::root_end, fulfils_promise<T> {
    explicit tells_wait(root_wait& told) noexcept : root_wait::root_end(told) {}
};

} // namespace detail

/// Awaits what `f()` returns, or `f` itself, on the executor `where`. Returns its result or throws its
/// exception.
///
/// The calling thread waits like future::get(). In a worker of a pool it runs other tasks of that pool
/// meanwhile, to any depth, so that a pool of one thread makes progress. Do not call it while holding a lock.
///
/// Throws std::system_error(resource_deadlock_would_occur) in a function of a strand or a lane, which would
/// make no progress until it returns. Throws like co_spawn(). Throws operation_canceled if an executor
/// refuses or drops the coroutine, or if the context of `where` is destroyed before it has ended.
///
/// The coroutine has been destroyed when the call returns. If the context has stopped for good, the calling
/// thread destroys the coroutines that are refused there.
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
    using result = typename detail::spawned_result<std::remove_cv_t<decltype(awaited)>>::type;
    detail::root_wait waiting(use_service<detail::coroutine_service>(where.context()).buried());
    detail::tells_wait<result> end(waiting);
    auto awaited_result = end.promised.get_future();
    detail::begin_spawned(where, awaited, std::move(end), chosen);
    waiting.wait();
    return awaited_result.get();
}

/// Does the same in this_pool(): the pool whose worker the calling thread is, or else default_pool().
template <class F>
    requires(!executor<std::remove_cvref_t<F>>)
decltype(auto) sync_wait(F&& f, spawn_options chosen = spawn_options()) {
    detail::refuse_wait_in_serial_scope(); // before a pool is started for it
    return sync_wait(this_pool().get_executor(), std::forward<F>(f), std::move(chosen));
}

} // namespace ekiden::inline EKIDEN_ABI
