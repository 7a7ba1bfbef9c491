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

/// `Kept` is an executor, or a reference to one that the program keeps.
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
            const any_executor to(to_); // this may be destroyed before the post has returned
            way_there_.resume_at(to);
        }
        return true;
    }
    static void await_resume() noexcept {}

private:
    Kept to_;
    suspension way_there_; // for a coroutine of another library
};

} // namespace detail

/// `co_await resume_on(executor)`: moves the coroutine to another executor, where it continues. From then on
/// it resumes there after every await, and the coroutines that it awaits later run there. Its own awaiting
/// coroutine stays on its executor. Has no effect if the coroutine is there already.
///
/// The first move allocates an environment for the coroutine, in recycled memory. Later moves allocate
/// nothing. Throws std::bad_alloc; then the coroutine has not moved. If the executor accepts no more tasks,
/// the coroutine is dropped, with the coroutines that await it: see co_spawn().
///
/// The coroutine stays outstanding work of the context on which it was spawned. It is no work of the new
/// context while it waits, so a loop to which it moves must be kept running by a work guard.
///
/// Lifetime: `where` must live until the await has begun, unless it is a temporary object. If the executor
/// has is_plain_executor (a strand, or a trivially copyable executor), the coroutine may keep a copy of it
/// until the move after the next one, and compare it.
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
    return resume_on(context.get_executor());
}

} // namespace ekiden::inline EKIDEN_ABI
