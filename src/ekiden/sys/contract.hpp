/// Broken contracts of callers and broken invariants of the library: prints a message, then aborts.
///
/// Part: sys. Used by: every part, for checks that are cheap enough to stay in a release build.
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
