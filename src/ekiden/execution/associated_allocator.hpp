/// Which memory a handler wants to be kept in until it is called.
///
/// Part: execution. Used by: programs that write handlers, operations that end by calling a handler. A point
/// to plug in types of one's own: give them a member `allocator_type` and get_allocator(), or specialise.
/// After N4771, 13.5 and 13.6.
#pragma once

#include <ekiden/sys/config.hpp>

#include <functional>
#include <memory>

namespace ekiden::inline EKIDEN_ABI {

/// `type` is the allocator's type, and get(t, a) the allocator: t's own, if T has an `allocator_type`, and
/// else `a`. A std::allocator stands for the library's own memory for tasks.
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

/// The type of it.
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

/// `get_associated_allocator(t)` is the allocator that `t` is associated with; the second argument if it has
/// none of its own. An object that is called, like get_associated_executor.
inline constexpr detail::associated_allocator_function get_associated_allocator{};

} // namespace ekiden::inline EKIDEN_ABI
