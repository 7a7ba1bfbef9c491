/// Goes on somewhere else.
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
            const any_executor to(to_); // this may be gone before the post has returned
            way_there_.resume_at(to);
        }
        return true;
    }
    static void await_resume() noexcept {}

private:
    Kept to_;
    suspension way_there_; // of a coroutine of another library
};

} // namespace detail

/// `co_await resume_on(executor)`: the coroutine goes on there, and is at home there from now on, with all
/// that it awaits later; the one that waits for it is not, and goes on at its own home. Nothing happens if it
/// is there already. The first hop of a coroutine makes an environment of its own, in recycled memory; the
/// next ones allocate nothing. Throws std::bad_alloc; then it is where it was. If the executor takes no more,
/// the coroutine ends, with those that wait for it, as co_spawn() says.
///
/// The coroutine stays outstanding work of the context that it was spawned on, and is none of this one while
/// it waits: a loop to which it moves has to be kept running, by a work guard.
///
/// `where`, if it is no temporary object, is there until the await has begun. An executor with
/// is_plain_executor, which a strand or a trivially copyable one is, may be kept by the coroutine until the
/// next hop but one, and compared.
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
