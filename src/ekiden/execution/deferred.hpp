/// The completion token with which an operation starts later.
///
/// Part: execution. Used by: programs. Modeled on the `deferred` token of Asio.
#pragma once

#include <ekiden/execution/async_result.hpp>

#include <tuple>
#include <type_traits>
#include <utility>

namespace ekiden::inline EKIDEN_ABI {

/// The type of deferred.
struct deferred_t {
    explicit constexpr deferred_t() = default;
};

/// A token with which an operation does not start, but returns a deferred_operation.
inline constexpr deferred_t deferred{};

/// An operation that has not started, with all of its arguments except the token. A call with a token starts
/// the operation and returns the result that the token determines. A call on an lvalue copies the arguments.
/// If the object is never called, the operation does not start.
template <class Signature, class Initiation, class... Args>
class [[nodiscard]] deferred_operation {
public:
    template <class I, class... A>
    explicit deferred_operation(std::in_place_t, I&& initiation, A&&... args)
        : initiation_(std::forward<I>(initiation)), args_(std::forward<A>(args)...) {}

    /// Starts the operation and moves the arguments into it.
    template <class Token>
    decltype(auto) operator()(Token&& token) && {
        return std::apply(
            [&](Args&&... args) -> decltype(auto) {
                return ekiden::async_initiate<Token, Signature>(
                    std::move(initiation_), std::forward<Token>(token), std::move(args)...);
            },
            std::move(args_));
    }
    /// Starts the operation with a copy of the arguments.
    template <class Token>
    decltype(auto) operator()(Token&& token) const& {
        return deferred_operation(*this)(std::forward<Token>(token));
    }

private:
    Initiation initiation_;
    std::tuple<Args...> args_;
};

template <class Signature>
class async_result<deferred_t, Signature> {
public:
    template <class Initiation, class... Args>
    static auto initiate(Initiation&& initiation, deferred_t, Args&&... args) {
        return deferred_operation<Signature, std::decay_t<Initiation>, std::decay_t<Args>...>(
            std::in_place, std::forward<Initiation>(initiation), std::forward<Args>(args)...);
    }
};

} // namespace ekiden::inline EKIDEN_ABI
