/// A handler or a completion token, together with the allocator that supplies memory for the handler.
///
/// Part: execution. Used by: programs. Modeled on the function bind_allocator() of Asio.
#pragma once

#include <ekiden/execution/associated_allocator.hpp>
#include <ekiden/execution/associated_executor.hpp>
#include <ekiden/execution/async_result.hpp>
#include <ekiden/execution/detail/binder.hpp>

#include <type_traits>
#include <utility>

namespace ekiden::inline EKIDEN_ABI {

/// An object of type T with an associated allocator. A call of the binder calls the object of type T. If
/// binders are nested, the allocator of the outermost binder is used. The binder has the same associated
/// executor as the object of type T.
template <class T, class Allocator>
class allocator_binder : public detail::binder<T, Allocator> {
public:
    using allocator_type = Allocator;

    using detail::binder<T, Allocator>::binder;

    [[nodiscard]] Allocator get_allocator() const noexcept { return this->bound(); }
};

/// Returns a binder that associates the allocator `memory` with `target`.
template <class Allocator, class T>
[[nodiscard]] allocator_binder<std::decay_t<T>, Allocator> bind_allocator(const Allocator& memory,
                                                                          T&& target) {
    return {memory, std::forward<T>(target)};
}

template <class T, class Allocator, class Executor>
struct associated_executor<allocator_binder<T, Allocator>, Executor> {
    using type = associated_executor_t<T, Executor>;
    [[nodiscard]] static decltype(auto) get(const allocator_binder<T, Allocator>& binder,
                                            const Executor& otherwise) noexcept {
        return associated_executor<T, Executor>::get(binder.get(), otherwise);
    }
    [[nodiscard]] static decltype(auto) get(const allocator_binder<T, Allocator>& binder) noexcept {
        return associated_executor<T, Executor>::get(binder.get());
    }
};

/// Binds the allocator to the handler that the inner token T creates.
template <class T, class Allocator, class Signature>
class async_result<allocator_binder<T, Allocator>, Signature>
    : public detail::bound_async_result<allocator_binder, T, Allocator, Signature> {};

} // namespace ekiden::inline EKIDEN_ABI
