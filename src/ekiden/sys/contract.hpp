/// What happens when a caller breaks a contract, or the library its own invariant: a message, then abort.
///
/// Part: sys. Used by: every part, for checks that are cheap enough to stay in a release build.
#pragma once

#include <ekiden/sys/config.hpp>

namespace ekiden::inline EKIDEN_ABI::sys {

/// Prints "ekiden: <what>" to standard error and aborts.
[[noreturn]] void contract_broken(const char* what) noexcept;

/// Nothing if `holds`; else contract_broken(what).
inline void expects(bool holds, const char* what) noexcept {
    if (!holds) [[unlikely]]
        contract_broken(what);
}

} // namespace ekiden::inline EKIDEN_ABI::sys
