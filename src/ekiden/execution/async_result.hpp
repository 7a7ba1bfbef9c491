/// Completion tokens. A token determines how the caller of an asynchronous operation learns that the
/// operation has completed.
///
/// Part: execution. Used by: programs that write tokens, asynchronous operations, and tokens such as
/// use_future. Modeled on sections 13.3 and 13.4 of the Networking TS (N4771), in the later form that Asio
/// uses. In this form, the token starts the operation.
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

/// Defines what an operation does with a token of type `Token`. `Signature` is the signature of the handler
/// that the operation calls, such as void(std::error_code). The class is a customization point. A
/// specialization must have the static function `initiate(initiation, token, args...)`.
///
/// initiate() calls `initiation(handler, args...)` at most once, before initiate() returns or later.
/// `handler` must be movable. The operation calls `handler` once with the arguments of the signature, or
/// destroys it without a call. The operation returns the result of initiate(). The primary template is used
/// if the token itself is the handler.
template <class Token, class Signature>
class async_result {
public:
    static_assert(
        detail::handles<Token, Signature>,
        "ekiden: the completion token is no handler for this operation, because it cannot be called with the "
        "arguments of the signature, and it is no token such as use_future");

    template <class Initiation, class RawToken, class... Args>
    static decltype(auto) initiate(Initiation&& initiation, RawToken&& token, Args&&... args) {
        return std::forward<Initiation>(initiation)(std::forward<RawToken>(token),
                                                    std::forward<Args>(args)...);
    }
};

namespace detail {

/// The type of async_initiate.
template <class Token, class Signature>
struct initiate_with_token {
    template <class Initiation, class... Args>
    decltype(auto) operator()(Initiation&& initiation, Token&& token, Args&&... args) const {
        return async_result<std::decay_t<Token>, Signature>::initiate(
            std::forward<Initiation>(initiation), std::forward<Token>(token), std::forward<Args>(args)...);
    }
};

} // namespace detail

/// `async_initiate<Token, Signature>(initiation, token, args...)`: starts an operation. The token determines
/// when `initiation(handler, args...)` is called, and with which handler. Returns the result that the token
/// determines, such as a future. async_initiate is an object and not a function, so argument-dependent lookup
/// does not find it. Otherwise, calls that Asio makes to its own async_initiate with a token of this library
/// would find it, too.
template <class Token, class Signature>
inline constexpr detail::initiate_with_token<Token, Signature> async_initiate{};

} // namespace ekiden::inline EKIDEN_ABI
