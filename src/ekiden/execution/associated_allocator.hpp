/// The allocator of a handler: it supplies the memory in which the handler is stored until it is called.
///
/// Part: execution. Used by: programs that write handlers, operations that end by calling a handler. A
/// customization point: give a type a member `allocator_type` and get_allocator(), or specialize the
/// template. Modeled on N4771, 13.5 and 13.6.
#pragma once

#include <ekiden/sys/config.hpp>

#include <functional>
#include <memory>

namespace ekiden::inline EKIDEN_ABI {

/// Associates an allocator with an object. `type` is the type of the allocator, and get(t, a) returns it. If
/// T has an `allocator_type`, it is the allocator of `t`; otherwise it is `a`. A std::allocator stands for
/// the library's own memory for tasks.
template <class T, class Allocator = std::allocator<void>>
struct associated_allocator {
    using type = Allocator;
    [[nodiscard]] static Allocator get(const T&, const Allocator& otherwise = Allocator()) noexcept {
        return otherwise;
    }
};

template <class T, class Allocator>
    requires requires { typename T::allocator_type; }
struct associated_allocator<T, Allocator> {
    using type = typename T::allocator_type;
    [[nodiscard]] static type get(const T& t, const Allocator& = Allocator()) noexcept {
        return t.get_allocator();
    }
};

template <class T, class Allocator>
struct associated_allocator<std::reference_wrapper<T>, Allocator> : associated_allocator<T, Allocator> {};

/// The type of the allocator that is associated with a T.
template <class T, class Allocator = std::allocator<void>>
using associated_allocator_t = typename associated_allocator<T, Allocator>::type;

namespace detail {

struct associated_allocator_function {
    template <class T>
    [[nodiscard]] associated_allocator_t<T> operator()(const T& t) const noexcept {
        return associated_allocator<T>::get(t);
    }
    template <class T, class Allocator>
    [[nodiscard]] associated_allocator_t<T, Allocator> operator()(const T& t,
                                                                  const Allocator& otherwise) const noexcept {
        return associated_allocator<T, Allocator>::get(t, otherwise);
    }
};

} // namespace detail

/// `get_associated_allocator(t)` returns the allocator that is associated with `t`.
/// `get_associated_allocator(t, a)` returns `a` if `t` has no allocator of its own. It is a function object,
/// like get_associated_executor.
inline constexpr detail::associated_allocator_function get_associated_allocator{};

} // namespace ekiden::inline EKIDEN_ABI
