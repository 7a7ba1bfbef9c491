/// A handler or a completion token, together with the executor on which the handler runs.
///
/// Part: execution. Used by: programs. Modeled on sections 13.14 and 13.15 of the Networking TS (N4771).
#pragma once

#include <ekiden/execution/associated_allocator.hpp>
#include <ekiden/execution/associated_executor.hpp>
#include <ekiden/execution/async_result.hpp>
#include <ekiden/execution/detail/binder.hpp>

#include <concepts>
#include <type_traits>
#include <utility>

namespace ekiden::inline EKIDEN_ABI {

/// An object of type T with an associated executor. A call of the binder calls the object of type T. If
/// binders are nested, the executor of the outermost binder is used. The binder has the same associated
/// allocator as the object of type T.
template <class T, class Executor>
class executor_binder : public detail::binder<T, Executor> {
    static_assert(executor<Executor>);

public:
    using executor_type = Executor;

    using detail::binder<T, Executor>::binder;

    [[nodiscard]] const Executor& get_executor() const noexcept { return this->bound(); }
};

/// Returns a binder that associates an executor with `target`. The executor is `where`, or the executor of
/// `context`.
template <executor Executor, class T>
[[nodiscard]] executor_binder<std::decay_t<T>, Executor> bind_executor(const Executor& where, T&& target) {
    return {where, std::forward<T>(target)};
}
template <std::derived_from<execution_context> Context, class T>
[[nodiscard]] auto bind_executor(Context& context, T&& target) {
    return ekiden::bind_executor(context.get_executor(), std::forward<T>(target));
}

template <class T, class Executor, class Allocator>
struct associated_allocator<executor_binder<T, Executor>, Allocator> {
    using type = associated_allocator_t<T, Allocator>;
    [[nodiscard]] static type get(const executor_binder<T, Executor>& binder,
                                  const Allocator& otherwise = Allocator()) noexcept {
        return associated_allocator<T, Allocator>::get(binder.get(), otherwise);
    }
};

/// Binds the executor to the handler that the inner token T creates.
template <class T, class Executor, class Signature>
class async_result<executor_binder<T, Executor>, Signature>
    : public detail::bound_async_result<executor_binder, T, Executor, Signature> {};

} // namespace ekiden::inline EKIDEN_ABI
