/// Lets coroutines await futures.
///
/// Part: async. Used by: programs.
#pragma once

#include <ekiden/async/detail/stop_state.hpp>
#include <ekiden/async/detail/suspension.hpp>
#include <ekiden/future/future.hpp>
#include <ekiden/future/operation_canceled.hpp>
#include <ekiden/future/shared_future.hpp>
#include <ekiden/sys/atomic.hpp>
#include <ekiden/sys/mutant.hpp>

#include <coroutine>
#include <utility>

namespace ekiden::inline EKIDEN_ABI {

namespace detail {

/// Waits until a future of any type is ready. Two threads call arrive(): the thread in await_suspend(), and
/// the thread that ends the wait. The thread in await_suspend() calls arrive() when it no longer uses the
/// awaiter. The thread that ends the wait has produced the result, or has requested a stop. The coroutine
/// continues after the second call of arrive().
class completion_wait : private stop_node {
public:
    completion_wait() noexcept : stop_node(&stop_requested), on_ready_(&is_ready, this) {}
    completion_wait(const completion_wait&) = delete;
    completion_wait& operator=(const completion_wait&) = delete;
    ~completion_wait();

    /// Does the work of await_suspend() for the coroutine `waiting`. `awaited` must outlive this object.
    template <class Promise>
    [[nodiscard]] bool suspend(std::coroutine_handle<Promise> waiting, completion& awaited) noexcept {
        way_home_.bind(waiting);
        return begin(awaited);
    }

    /// Removes the registration for a stop. Returns true if a stop has canceled the wait. The resumed
    /// coroutine calls leave() before it takes the result, because taking the result may destroy the state of
    /// the future. Without leave(), a thread that requests a stop could still read the destroyed state.
    [[nodiscard]] bool leave() noexcept {
        if (!EKIDEN_MUTANT(await_leaves_stop_armed)) (void)disarm();
        return is_canceled_;
    }

private:
    [[nodiscard]] bool begin(completion& awaited) noexcept;
    [[nodiscard]] bool arrive() noexcept;
    static void is_ready(void* self) noexcept;
    static void stop_requested(stop_node& node) noexcept;

    suspension way_home_;
    completion* awaited_ = nullptr;
    completion::continuation on_ready_;
    sys::atomic<unsigned> to_arrive_{2};
    sys::atomic<bool> is_stopped_{false};
    bool is_canceled_ = false;
};

template <class Future>
class future_awaiter {
public:
    static constexpr bool comes_home = true;

    explicit future_awaiter(Future& awaited) noexcept : future_(awaited) {}

    /// Throws std::future_error(no_state) if the future has no state.
    [[nodiscard]] bool await_ready() const {
        return future_.is_ready() || future_access::state(future_)->is_left_behind();
    }
    template <class Promise>
    [[nodiscard]] bool await_suspend(std::coroutine_handle<Promise> waiting) noexcept {
        return wait_.suspend(waiting, *future_access::state(future_));
    }
    decltype(auto) await_resume() {
        if (wait_.leave()) throw operation_canceled("co_await of a future");
        return future_.get();
    }

private:
    Future& future_;
    completion_wait wait_;
};

} // namespace detail

/// `co_await std::move(f)`: waits for the result without blocking the thread. Returns the result or throws
/// the exception, like f.get(). If the coroutine is stopped while it waits, throws operation_canceled and
/// leaves the future unchanged. If the result is ready, returns the result even after a stop.
///
/// Ordering: everything that the producer did before it completed the future happens before the co_await
/// returns.
template <class R>
[[nodiscard]] detail::future_awaiter<future<R>> operator co_await(future<R>&& awaited) noexcept {
    return detail::future_awaiter<future<R>>(awaited);
}
/// `co_await f`: awaits a shared_future like a future. Several coroutines may await one shared_future.
template <class R>
[[nodiscard]] detail::future_awaiter<const shared_future<R>>
operator co_await(const shared_future<R>& awaited) noexcept {
    return detail::future_awaiter<const shared_future<R>>(awaited);
}

} // namespace ekiden::inline EKIDEN_ABI
