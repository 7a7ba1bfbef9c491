/// Says that a task is about to block, so that its pool can put another thread to work meanwhile.
///
/// Part: pool. Used by: programs. What the pool does about it: elastic.md. Locks, barriers, buffers and
/// limited waits of this library say so themselves.
#pragma once

#include <ekiden/context/thread_context.hpp>

#include <functional>
#include <utility>

namespace ekiden::inline EKIDEN_ABI {

/// While it exists, its thread does not count as one that runs tasks: the pool has a thread that stands by,
/// or a new one up to thread_pool_options::max_threads, take its place, and others take what it has queued.
/// In a thread that is no worker, and inside another region, it does nothing. About 0.1 us if no other thread
/// is needed.
///
/// It begins and ends in the same thread, so it must not live across a co_await.
class [[nodiscard]] blocking_region {
public:
    /// `what` is shown in reports of a stalled pool, and must live as long as the region.
    explicit blocking_region(const char* what = "a blocking call") noexcept : blocked_(what) {}

private:
    blocked_here blocked_;
};

/// Calls `f` in a blocking_region, and returns what it returns.
template <class F>
decltype(auto) block(F&& f) {
    const blocking_region region;
    return std::invoke(std::forward<F>(f));
}

} // namespace ekiden::inline EKIDEN_ABI
