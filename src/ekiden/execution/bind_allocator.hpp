/// A handler, or a token, together with the allocator of the memory in which it is stored.
///
/// Part: execution. Used by: programs. Modeled on bind_allocator of Asio.
#pragma once

#include <ekiden/execution/associated_allocator.hpp>
#include <ekiden/execution/associated_executor.hpp>
#include <ekiden/execution/async_result.hpp>

#include <concepts>
#include <functional>
#include <type_traits>
#include <utility>

namespace ekiden::inline EKIDEN_ABI {

/// A T with an associated allocator. Calling it calls T directly. If binders are nested, the outermost
/// allocator is used. The other associations of T are kept.
template <class T, class Allocator>
class allocator_binder {
public:
    using target_type = T;
    using allocator_type = Allocator;

    template <class U>
    allocator_binder(const Allocator& memory, U&& target)
        : allocator_(memory), target_(std::forward<U>(target)) {}

    [[nodiscard]] T& get() noexcept { return target_; }
    [[nodiscard]] const T& get() const noexcept { return target_; }
    [[nodiscard]] Allocator get_allocator() const noexcept { return allocator_; }

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
    [[no_unique_address]] Allocator allocator_;
    T target_;
};

/// Returns `target` with the allocator `memory`.
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

/// Binds the allocator to the handler that the inner token stands for.
template <class T, class Allocator, class Signature>
class async_result<allocator_binder<T, Allocator>, Signature> {
public:
    template <class Initiation, class Binder, class... Args>
    static decltype(auto) initiate(Initiation&& initiation, Binder&& token, Args&&... args) {
        return ekiden::async_initiate<T, Signature>(
            [initiation = std::decay_t<Initiation>(std::forward<Initiation>(initiation)),
             memory = token.get_allocator()]<class Handler>(Handler&& handler, auto&&... more) mutable {
                return std::move(initiation)(allocator_binder<std::decay_t<Handler>, Allocator>(
                                                 memory, std::forward<Handler>(handler)),
                                             std::forward<decltype(more)>(more)...);
            },
            inner(std::forward<Binder>(token)), std::forward<Args>(args)...);
    }

private:
    static T inner(const allocator_binder<T, Allocator>& token) { return token.get(); }
    static T inner(allocator_binder<T, Allocator>&& token) { return std::move(token.get()); }
};

} // namespace ekiden::inline EKIDEN_ABI
