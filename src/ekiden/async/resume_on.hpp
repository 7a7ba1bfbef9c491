/// Moves a coroutine to another executor.
///
/// Part: async. Used by: programs.
#pragma once

#include <ekiden/async/detail/suspension.hpp>
#include <ekiden/execution/executor.hpp>

#include <concepts>
#include <coroutine>
#include <type_traits>
#include <utility>

namespace ekiden::inline EKIDEN_ABI {

namespace detail {

/// `Kept` is an executor, or a reference to an executor that the program owns.
template <class Kept>
class hop_awaiter {
public:
    static constexpr bool comes_home = true;

    explicit hop_awaiter(Kept to) noexcept : to_(std::forward<Kept>(to)) {}
    hop_awaiter(const hop_awaiter&) = delete;
    hop_awaiter& operator=(const hop_awaiter&) = delete;

    [[nodiscard]] static bool await_ready() noexcept { return false; }

    template <class Promise>
    [[nodiscard]] bool await_suspend(std::coroutine_handle<Promise> hopping) {
        if constexpr (std::derived_from<Promise, coroutine_promise>) {
            coroutine_promise& promise = hopping.promise();
            if (!promise.move_home(to_)) return false;
            promise.post(task_order::usual);
        } else {
            way_there_.bind(hopping);
            const any_executor to(to_); // `to` is a copy, because the post may destroy the awaiter
            way_there_.resume_at(to);
        }
        return true;
    }
    static void await_resume() noexcept {}

private:
    Kept to_;
    suspension way_there_; // used only by coroutines of other libraries
};

} // namespace detail

/// `co_await resume_on(executor)`: moves the calling coroutine to another executor, on which it continues.
/// After the move, the coroutine resumes on the new executor after every await. Coroutines that the moved
/// coroutine awaits later also run on the new executor. A coroutine that awaits the moved coroutine stays on
/// its own executor. Has no effect if the coroutine is already on the given executor.
///
/// The first move of a coroutine allocates an environment in recycled memory. Later moves allocate nothing.
/// If the allocation fails, throws std::bad_alloc, and the coroutine does not move. If the executor accepts
/// no more tasks, the coroutine and all coroutines that await it are dropped, as the comment of co_spawn()
/// describes.
///
/// The coroutine remains outstanding work of the context on which it was spawned. While the coroutine waits,
/// it is not outstanding work of the new executor's context. If a coroutine moves to a loop, a work guard
/// must keep the loop running.
///
/// Lifetime: if `where` is an lvalue, the executor must exist until the await has begun. If is_plain_executor
/// is true for the type of `where`, the coroutine may keep a copy of `where`, and compare the copy with other
/// executors. The coroutine keeps the copy until the coroutine has moved two more times. The variable
/// is_plain_executor is true for trivially copyable executors, and for strands on such executors.
template <executor E>
[[nodiscard]] auto resume_on(const E& where) {
    return detail::hop_awaiter<const E&>(where);
}
template <executor E>
    requires(!std::is_lvalue_reference_v<E>)
[[nodiscard]] auto resume_on(E&& where) {
    return detail::hop_awaiter<E>(std::forward<E>(where));
}
template <std::derived_from<execution_context> Context>
[[nodiscard]] auto resume_on(Context& context) {
    return ekiden::resume_on(context.get_executor());
}

} // namespace ekiden::inline EKIDEN_ABI
