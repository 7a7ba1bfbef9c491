/// Returns the environment of the calling coroutine.
///
/// Part: async. Used by: programs and awaitables.
#pragma once

#include <ekiden/async/detail/suspension.hpp>

#include <coroutine>

namespace ekiden::inline EKIDEN_ABI {

namespace detail {

class environment_awaiter {
public:
    static constexpr bool comes_home = true;

    [[nodiscard]] static bool await_ready() noexcept { return false; }
    template <class Promise>
    [[nodiscard]] bool await_suspend(std::coroutine_handle<Promise> asking) noexcept {
        suspension of;
        of.bind(asking);
        env_ = &of.env();
        return false;
    }
    [[nodiscard]] const environment& await_resume() const noexcept { return *env_; }

private:
    const environment* env_ = nullptr;
};

} // namespace detail

/// `co_await get_environment()`: returns a reference to the environment of the calling coroutine. Does not
/// suspend the coroutine. The reference is valid as long as the coroutine exists. After resume_on(), the
/// coroutine has another environment, so call get_environment() again.
[[nodiscard]] inline detail::environment_awaiter get_environment() noexcept { return {}; }

} // namespace ekiden::inline EKIDEN_ABI
