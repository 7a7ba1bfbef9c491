/// Checks of contracts and invariants. If a caller breaks a contract, or the library breaks an invariant, the
/// program prints a message and aborts.
///
/// Part: sys. Used by: every part. The checks are cheap enough to remain in a release build.
#pragma once

#include <ekiden/sys/config.hpp>

namespace ekiden::inline EKIDEN_ABI::sys {

/// Prints "ekiden: <what>" to standard error and aborts.
[[noreturn]] void contract_broken(const char* what) noexcept;

/// Calls contract_broken(what) unless `holds` is true.
inline void expects(bool holds, const char* what) noexcept {
    if (!holds) [[unlikely]]
        contract_broken(what);
}

} // namespace ekiden::inline EKIDEN_ABI::sys
