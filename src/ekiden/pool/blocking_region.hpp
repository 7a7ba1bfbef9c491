/// Tells a pool that a task is about to block, so that the pool can run another thread meanwhile.
///
/// Part: pool. Used by: programs. How the pool compensates: elastic.md. Locks, barriers, buffers and limited
/// waits of this library open a region themselves.
#pragma once

#include <ekiden/context/thread_context.hpp>

#include <functional>
#include <utility>

namespace ekiden::inline EKIDEN_ABI {

/// A scope in which the calling thread counts as blocked.
///
/// While the region exists, the pool lets another thread take the place of the blocked one. That is a thread
/// that stands by, or a new one, up to thread_pool_options::max_threads. Other workers take the tasks that
/// the blocked thread has queued. The region has no effect in a thread that is no worker, and inside another
/// region.
///
/// A region must be destroyed in the thread that made it, so it must not live across a co_await.
class [[nodiscard]] blocking_region {
public:
    /// Begins the region. `what` is shown in reports of a stalled pool. It must live as long as the region.
    explicit blocking_region(const char* what = "a blocking call") noexcept : blocked_(what) {}

private:
    blocked_here blocked_;
};

/// Calls `f` in a blocking_region. Returns what `f` returns, and throws what it throws.
template <class F>
decltype(auto) block(F&& f) {
    const blocking_region region;
    return std::invoke(std::forward<F>(f));
}

} // namespace ekiden::inline EKIDEN_ABI
