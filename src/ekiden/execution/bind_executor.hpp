/// A handler, or a token, together with the executor on which it runs.
///
/// Part: execution. Used by: programs. Modeled on N4771, 13.14 and 13.15.
#pragma once

#include <ekiden/execution/associated_allocator.hpp>
#include <ekiden/execution/associated_executor.hpp>
#include <ekiden/execution/async_result.hpp>

#include <concepts>
#include <functional>
#include <type_traits>
#include <utility>

namespace ekiden::inline EKIDEN_ABI {

/// A T with an associated executor. Calling it calls T directly. If binders are nested, the outermost
/// executor is used. The other associations of T are kept.
template <class T, executor Executor>
class executor_binder {
public:
    using target_type = T;
    using executor_type = Executor;

    template <class U>
    executor_binder(const Executor& where, U&& target) : executor_(where), target_(std::forward<U>(target)) {}

    [[nodiscard]] T& get() noexcept { return target_; }
    [[nodiscard]] const T& get() const noexcept { return target_; }
    [[nodiscard]] const Executor& get_executor() const noexcept { return executor_; }

    template <class... Args>
        requires std::invocable<T&, Args...>
    decltype(auto) operator()(Args&&... args) {
        return std::invoke(target_, std::forward<Args>(args)...);
    }
    template <class... Args>
        requires std::invocable<const T&, Args...>
    decltype(auto) operator()(Args&&... args) const {
        return std::invoke(target_, std::forward<Args>(args)...);
    }

private:
    Executor executor_;
    T target_;
};

/// Returns `target` with the executor `where`, or with the executor of `context`.
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

/// Binds the executor to the handler that the inner token stands for.
template <class T, class Executor, class Signature>
class async_result<executor_binder<T, Executor>, Signature> {
public:
    template <class Initiation, class Binder, class... Args>
    static decltype(auto) initiate(Initiation&& initiation, Binder&& token, Args&&... args) {
        return ekiden::async_initiate<T, Signature>(
            [initiation = std::decay_t<Initiation>(std::forward<Initiation>(initiation)),
             where = token.get_executor()]<class Handler>(Handler&& handler, auto&&... more) mutable {
                return std::move(initiation)(
                    executor_binder<std::decay_t<Handler>, Executor>(where, std::forward<Handler>(handler)),
                    std::forward<decltype(more)>(more)...);
            },
            inner(std::forward<Binder>(token)), std::forward<Args>(args)...);
    }

private:
    static T inner(const executor_binder<T, Executor>& token) { return token.get(); }
    static T inner(executor_binder<T, Executor>&& token) { return std::move(token.get()); }
};

} // namespace ekiden::inline EKIDEN_ABI
