/// Futures that have a result from the start.
///
/// Part: future. Used by: programs. Modeled on N4538 (make_ready_future, make_exceptional_future).
#pragma once

#include <ekiden/future/future.hpp>
#include <ekiden/queue/recycler.hpp>

#include <concepts>
#include <exception>
#include <stdexcept>
#include <type_traits>
#include <utility>

namespace ekiden::inline EKIDEN_ABI {

namespace detail {

/// Returns the future of a new state, whose result `set(state)` sets. Throws what `set` throws. Then the
/// state has been freed.
template <class R, class Set>
[[nodiscard]] future<R> ready_future(Set&& set) {
    auto* const state = recycler::create<promise_state<R>>();
    auto ready = future_access::make<future<R>>(state);
    (void)state->claim(); // no other thread has the state
    std::forward<Set>(set)(*state);
    state->complete(0);
    return ready;
}

} // namespace detail

/// Returns a future that is ready, with a copy of `value`, or with `value` moved from if it is an rvalue. For
/// a std::reference_wrapper<T> the result is a T&. Allocates once. Throws std::bad_alloc and what copying or
/// moving the value throws.
template <class T>
[[nodiscard]] future<std::unwrap_ref_decay_t<T>> make_ready_future(T&& value) {
    using result = std::unwrap_ref_decay_t<T>;
    return detail::ready_future<result>([&value](auto& state) {
        state.emplace_from([&value]() -> result { return std::forward<T>(value); });
    });
}
/// Returns a future of nothing that is ready. Allocates once. Throws std::bad_alloc.
[[nodiscard]] inline future<void> make_ready_future() {
    return detail::ready_future<void>([](auto& state) { state.emplace_from([] {}); });
}

/// Returns a future that is ready and whose get() throws `error`. Allocates once. Throws
/// std::invalid_argument if `error` is null, and std::bad_alloc.
template <class R>
[[nodiscard]] future<R> make_exceptional_future(std::exception_ptr error) {
    if (error == nullptr)
        throw std::invalid_argument(
            "ekiden: make_exceptional_future: error is null; allowed is an exception");
    return detail::ready_future<R>([&error](auto& state) { state.set_exception(std::move(error)); });
}
/// Returns a future that is ready and whose get() throws a copy of `exception`.
template <class R, class Exception>
    requires(!std::convertible_to<Exception, std::exception_ptr>)
[[nodiscard]] future<R> make_exceptional_future(Exception exception) {
    return ekiden::make_exceptional_future<R>(std::make_exception_ptr(std::move(exception)));
}

} // namespace ekiden::inline EKIDEN_ABI
