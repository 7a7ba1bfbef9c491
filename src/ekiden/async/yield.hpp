/// Lets other tasks of the executor run.
///
/// Part: async. Used by: programs.
#pragma once

#include <ekiden/async/detail/suspension.hpp>

#include <coroutine>

namespace ekiden::inline EKIDEN_ABI {

namespace detail {

class yield_awaiter {
public:
    static constexpr bool comes_home = true;

    [[nodiscard]] static bool await_ready() noexcept { return false; }
    template <class Promise>
    void await_suspend(std::coroutine_handle<Promise> yielding) noexcept {
        way_home_.bind(yielding);
        way_home_.resume(task_order::deferred);
    }
    static void await_resume() noexcept {}

private:
    suspension way_home_;
};

} // namespace detail

/// `co_await yield()`: suspends the coroutine, and posts it behind all tasks that are in the queue of its
/// executor now.
[[nodiscard]] inline detail::yield_awaiter yield() noexcept { return {}; }

} // namespace ekiden::inline EKIDEN_ABI
