/// Completion tokens: how the caller of an asynchronous operation learns of its end.
///
/// Part: execution. Used by: programs that write tokens, asynchronous operations (post, timers), tokens
/// (use_future, deferred, detached). After N4771, 13.3 to 13.4, in the form that Asio has given it since: the
/// token starts the operation.
#pragma once

#include <ekiden/sys/config.hpp>

#include <concepts>
#include <type_traits>
#include <utility>

namespace ekiden::inline EKIDEN_ABI {

namespace detail {

template <class Handler, class Signature>
inline constexpr bool handles = false;
template <class Handler, class R, class... Args>
inline constexpr bool handles<Handler, R(Args...)> = std::invocable<Handler&, Args...>;

} // namespace detail

/// What an operation does with a token of type `Token` if it ends with the arguments of `Signature`, such as
/// void(std::error_code). A point to plug in tokens of one's own: a specialisation has
///   initiate(initiation, token, args...)   which calls initiation(handler, args...), now or later, once, or
///                                          drops it; `handler` can be moved, and is called once with the
///                                          signature's arguments, or dropped
/// and what it returns is what the operation returns. This one is for tokens that are handlers themselves.
template <class Token, class Signature>
class async_result {
public:
    static_assert(
        detail::handles<Token, Signature>,
        "ekiden: the completion token is no handler for this operation: it cannot be called with the "
        "arguments of the signature; nor is it a token such as use_future");

    template <class Initiation, class RawToken, class... Args>
    static decltype(auto) initiate(Initiation&& initiation, RawToken&& token, Args&&... args) {
        return std::forward<Initiation>(initiation)(std::forward<RawToken>(token),
                                                    std::forward<Args>(args)...);
    }
};

/// Starts an operation: has `initiation(handler, args...)` called with the handler that `token` stands for,
/// and returns what the token wants its caller to have.
template <class Token, class Signature, class Initiation, class... Args>
decltype(auto) async_initiate(Initiation&& initiation, Token&& token, Args&&... args) {
    return async_result<std::decay_t<Token>, Signature>::initiate(
        std::forward<Initiation>(initiation), std::forward<Token>(token), std::forward<Args>(args)...);
}

} // namespace ekiden::inline EKIDEN_ABI
