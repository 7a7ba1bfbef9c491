/// Functions that return a future whose result is set already.
///
/// Part: future. Used by: programs. Modeled on make_ready_future and make_exceptional_future of N4538.
#pragma once

#include <ekiden/future/promise.hpp>

#include <concepts>
#include <exception>
#include <stdexcept>
#include <type_traits>
#include <utility>

namespace ekiden::inline EKIDEN_ABI {

/// Returns a future that is ready. The result is a copy of `value`, or is moved from `value` if the argument
/// is an rvalue. If `value` is a std::reference_wrapper<T>, the result is a T&. Allocates once. Throws
/// std::bad_alloc, and every exception that copying or moving the value throws.
template <class T>
[[nodiscard]] future<std::unwrap_ref_decay_t<T>> make_ready_future(T&& value) {
    using result = std::unwrap_ref_decay_t<T>;
    promise<result> ready;
    if constexpr (std::is_reference_v<result>)
        ready.set_value(static_cast<result>(value));
    else
        ready.set_value(std::forward<T>(value));
    return ready.get_future();
}
/// Returns a future<void> that is ready. Allocates once. Throws std::bad_alloc.
[[nodiscard]] inline future<void> make_ready_future() {
    promise<void> ready;
    ready.set_value();
    return ready.get_future();
}

/// Returns a future that is ready. The get() of the returned future throws `error`. Allocates once. Throws
/// std::invalid_argument if `error` is null. Throws std::bad_alloc.
template <class R>
[[nodiscard]] future<R> make_exceptional_future(std::exception_ptr error) {
    if (error == nullptr)
        throw std::invalid_argument(
            "ekiden: make_exceptional_future: error is null; allowed is an exception");
    promise<R> ready;
    ready.set_exception(std::move(error));
    return ready.get_future();
}
/// Returns a future that is ready. The get() of the returned future throws a copy of `exception`.
template <class R, class Exception>
    requires(!std::convertible_to<Exception, std::exception_ptr>)
[[nodiscard]] future<R> make_exceptional_future(Exception exception) {
    return ekiden::make_exceptional_future<R>(std::make_exception_ptr(std::move(exception)));
}

} // namespace ekiden::inline EKIDEN_ABI
