/// Futures that coroutines await.
///
/// Part: async. Used by: programs.
#pragma once

#include <ekiden/async/detail/stop_state.hpp>
#include <ekiden/async/detail/suspension.hpp>
#include <ekiden/async/operation_canceled.hpp>
#include <ekiden/future/future.hpp>
#include <ekiden/future/shared_future.hpp>
#include <ekiden/sys/atomic.hpp>
#include <ekiden/sys/mutant.hpp>

#include <coroutine>
#include <utility>

namespace ekiden::inline EKIDEN_ABI {

namespace detail {

/// Waits for a result without knowing its type. Two parties arrive: the producer or the stop, and
/// await_suspend(), which touches the awaiter until then. The second one to arrive resumes the coroutine.
class completion_wait : private stop_node {
public:
    completion_wait() noexcept : stop_node(&stop_requested), on_ready_(&is_ready, this) {}
    completion_wait(const completion_wait&) = delete;
    completion_wait& operator=(const completion_wait&) = delete;
    ~completion_wait();

    /// Suspends like await_suspend(). `awaited` must outlive this object.
    template <class Promise>
    [[nodiscard]] bool suspend(std::coroutine_handle<Promise> waiting, completion& awaited) noexcept {
        way_home_.bind(waiting);
        return begin(awaited);
    }

    /// Called by the resumed coroutine before it takes the result and possibly destroys the state, because a
    /// stop may still read the state. Returns true if the wait was canceled.
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

    /// Throws std::future_error(no_state).
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

/// `co_await std::move(f)`: returns or throws what f.get() does, without blocking the thread. If the
/// coroutine's stop is requested while it waits, throws operation_canceled, and the future is unchanged. A
/// result that is ready is returned, even after a stop. Everything that the producer did is visible.
template <class R>
[[nodiscard]] detail::future_awaiter<future<R>> operator co_await(future<R>&& awaited) noexcept {
    return detail::future_awaiter<future<R>>(awaited);
}
/// `co_await f`: the same for a shared_future, which several coroutines may await.
template <class R>
[[nodiscard]] detail::future_awaiter<const shared_future<R>>
operator co_await(const shared_future<R>& awaited) noexcept {
    return detail::future_awaiter<const shared_future<R>>(awaited);
}

} // namespace ekiden::inline EKIDEN_ABI
