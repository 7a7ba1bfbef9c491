/// What happens when a caller of the locks breaks their contract.
///
/// Part: sync. Used by: every lock of this part.
#pragma once

#include <ekiden/sys/config.hpp>

namespace ekiden::inline EKIDEN_ABI {

/// Prints "ekiden: " and `what` to the standard error and aborts.
[[noreturn]] void contract_broken(const char* what) noexcept;

/// True when the library was configured with checks that cost time on every call (the Debug configuration
/// does).
#if defined(EKIDEN_LOCK_CHECKS)
inline constexpr bool lock_checks = true;
#else
inline constexpr bool lock_checks = false;
#endif

} // namespace ekiden::inline EKIDEN_ABI
