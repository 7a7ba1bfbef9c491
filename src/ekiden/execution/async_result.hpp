/// Completion tokens: they determine how the caller of an asynchronous operation learns that it has
/// completed.
///
/// Part: execution. Used by: programs that write tokens, asynchronous operations (post, timers), tokens
/// (use_future, deferred, detached). Modeled on N4771, 13.3 to 13.4, in the later form of Asio, in which the
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

/// Defines what an operation does with a token of type `Token`, if it completes with the arguments of
/// `Signature`, such as void(std::error_code). It is a customization point: a specialization has the static
/// function `initiate(initiation, token, args...)`.
///
/// initiate() calls `initiation(handler, args...)` at most once, now or later. `handler` can be moved. It is
/// called once with the arguments of the signature, or dropped. The operation returns what initiate()
/// returns. The primary template is for tokens that are handlers themselves.
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

/// Starts an operation. The token arranges the call `initiation(handler, args...)`, where `handler` is the
/// handler that the token stands for. Returns what the token gives to the caller.
template <class Token, class Signature, class Initiation, class... Args>
decltype(auto) async_initiate(Initiation&& initiation, Token&& token, Args&&... args) {
    return async_result<std::decay_t<Token>, Signature>::initiate(
        std::forward<Initiation>(initiation), std::forward<Token>(token), std::forward<Args>(args)...);
}

} // namespace ekiden::inline EKIDEN_ABI
