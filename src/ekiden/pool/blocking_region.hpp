/// Tells a pool that a task is about to block, so that the pool can run another thread meanwhile.
///
/// Part: pool. Used by: programs. elastic.md explains how the pool replaces a blocked thread. The locks,
/// barriers, buffers and limited waits of this library begin a blocking_region themselves.
#pragma once

#include <ekiden/context/thread_context.hpp>

#include <functional>
#include <utility>

namespace ekiden::inline EKIDEN_ABI {

/// A scope in which the calling thread counts as blocked.
///
/// While the region exists, another thread may run tasks instead of the blocked thread. For this purpose, the
/// pool wakes a surplus thread or starts a new thread. The pool never has more threads than
/// thread_pool_options::max_threads. Other workers steal the tasks that the blocked thread has queued. The
/// region has no effect inside another region, and no effect in a thread that is not a worker.
///
/// A region must be destroyed in the thread that constructed it. So a region must not live across a co_await.
class [[nodiscard]] blocking_region {
public:
    /// Begins the region. `what` appears in the reports about a stalled pool. The text of `what` must live as
    /// long as the region.
    explicit blocking_region(const char* what = "a blocking call") noexcept : blocked_(what) {}

private:
    blocked_here blocked_;
};

/// Calls `f` in a blocking_region. Returns what `f` returns, and throws what `f` throws.
template <class F>
decltype(auto) block(F&& f) {
    const blocking_region region;
    return std::invoke(std::forward<F>(f));
}

} // namespace ekiden::inline EKIDEN_ABI
