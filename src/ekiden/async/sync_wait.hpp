/// Waits for an awaitable in a function that is no coroutine.
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

/// Throws std::system_error(resource_deadlock_would_occur) inside of a strand or a lane.
void refuse_wait_in_serial_scope();

/// The future has its result before the wait is told.
template <class T>
struct tells_wait : root_wait::root_end, fulfils_promise<T> {
    explicit tells_wait(root_wait& told) noexcept : root_wait::root_end(told) {}
};

} // namespace detail

/// Awaits what `f()` returns, or `f` itself, on the executor `where`, and returns its result or throws what
/// it has thrown. The calling thread waits as future::get() does: in a worker of a pool it runs other tasks
/// of that pool meanwhile, to any depth, so that a pool of one thread gets on. Do not call it with a lock
/// held. Throws std::system_error(resource_deadlock_would_occur) in a function of a strand or a lane, which
/// would not get on before it returns; as co_spawn(); and operation_canceled if an executor refuses or drops
/// the coroutine, or the context of `where` ends before it. When it returns, nothing is left of the
/// coroutine: if the context has stopped for good, the calling thread destroys what is refused there.
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

/// The same in the pool whose worker the calling thread is, or else in default_pool().
template <class F>
    requires(!executor<std::remove_cvref_t<F>>)
decltype(auto) sync_wait(F&& f, spawn_options chosen = spawn_options()) {
    detail::refuse_wait_in_serial_scope(); // before a pool is started for it
    return sync_wait(this_pool().get_executor(), std::forward<F>(f), std::move(chosen));
}

} // namespace ekiden::inline EKIDEN_ABI
