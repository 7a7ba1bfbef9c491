/// The completion token that ignores the results of an operation.
///
/// Part: execution. Used by: programs. Modeled on the `detached` token of Asio.
#pragma once

#include <ekiden/execution/async_result.hpp>

namespace ekiden::inline EKIDEN_ABI {

/// The type of detached.
struct detached_t {
    explicit constexpr detached_t() = default;
};

/// A token with which an operation starts at once and returns nothing. The results of the operation are
/// dropped.
inline constexpr detached_t detached{};

template <class R, class... Args>
class async_result<detached_t, R(Args...)> {
public:
    template <class Initiation, class... InitiationArgs>
    static void initiate(Initiation&& initiation, detached_t, InitiationArgs&&... args) {
        std::forward<Initiation>(initiation)([](Args...) noexcept {}, std::forward<InitiationArgs>(args)...);
    }
};

} // namespace ekiden::inline EKIDEN_ABI
