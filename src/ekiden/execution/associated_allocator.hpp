/// The allocator of a handler, which supplies the memory for the handler until the handler is called.
///
/// Part: execution. Used by: programs that write handlers, and operations that call handlers. A type is
/// associated with an allocator if it has the members `allocator_type` and get_allocator(), or if the program
/// specializes the template associated_allocator for the type. Modeled on sections 13.5 and 13.6 of the
/// Networking TS (N4771).
#pragma once

#include <ekiden/sys/config.hpp>

#include <functional>
#include <memory>

namespace ekiden::inline EKIDEN_ABI {

/// Associates an allocator with an object of type T. `type` is the type of the allocator, and get(t, a)
/// returns the allocator. If T has a member `allocator_type`, get(t, a) returns t.get_allocator(). If T has
/// no such member, get(t, a) returns `a`. If the allocator is a std::allocator, the library does not call it,
/// but reuses memory of earlier tasks.
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

/// The type of the allocator that is associated with an object of type T.
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
/// `get_associated_allocator(t, a)` returns `a` if `t` has no allocator of its own. The name denotes a
/// function object, like get_associated_executor.
inline constexpr detail::associated_allocator_function get_associated_allocator{};

} // namespace ekiden::inline EKIDEN_ABI
