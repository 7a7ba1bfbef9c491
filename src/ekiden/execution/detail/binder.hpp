/// A handler or a completion token, together with an associated executor or an associated allocator.
///
/// Part: execution. Used by: programs, through bind_executor and bind_allocator.
#pragma once

#include <ekiden/execution/async_result.hpp>

#include <concepts>
#include <functional>
#include <type_traits>
#include <utility>

namespace ekiden::inline EKIDEN_ABI::detail {

/// The base of executor_binder and allocator_binder. A call of a binder calls the target of the binder.
template <class T, class Bound>
class binder {
public:
    using target_type = T;

    /// Stores a copy of `bound`, and `target`. Throws whatever these copies throw.
    template <class U>
    binder(const Bound& bound, U&& target) : bound_(bound), target_(std::forward<U>(target)) {}

    [[nodiscard]] T& get() noexcept { return target_; }
    [[nodiscard]] const T& get() const noexcept { return target_; }

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

protected:
    [[nodiscard]] const Bound& bound() const noexcept { return bound_; }

private:
    template <template <class, class> class, class, class, class>
    friend class bound_async_result;

    [[no_unique_address]] Bound bound_;
    T target_;
};

/// The async_result of a Binder<T, Bound> whose T is a completion token. Binds the executor or allocator of
/// type `Bound` to the handler that the inner token T creates.
template <template <class, class> class Binder, class T, class Bound, class Signature>
class bound_async_result {
public:
    template <class Initiation, class Token, class... Args>
    static decltype(auto) initiate(Initiation&& initiation, Token&& token, Args&&... args) {
        return ekiden::async_initiate<T, Signature>(
            [initiation = std::decay_t<Initiation>(std::forward<Initiation>(initiation)),
             bound = token.bound_]<class Handler>(Handler&& handler, auto&&... more) mutable {
                return std::move(initiation)(
                    Binder<std::decay_t<Handler>, Bound>(bound, std::forward<Handler>(handler)),
                    std::forward<decltype(more)>(more)...);
            },
            T(std::forward<Token>(token).target_), std::forward<Args>(args)...);
    }
};

} // namespace ekiden::inline EKIDEN_ABI::detail
