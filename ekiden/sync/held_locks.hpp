/// Which locks this thread holds shared: to find a thread that would wait for itself. Only used where
/// lock_checks is set.
///
/// Part: sync. Used by: rw_mutex.
#pragma once

#include <ekiden/sys/config.hpp>

namespace ekiden::inline EKIDEN_ABI {

/// True when the library was configured with checks that cost time on every call (the Debug configuration
/// does).
#if defined(EKIDEN_LOCK_CHECKS)
inline constexpr bool lock_checks = true;
#else
inline constexpr bool lock_checks = false;
#endif

/// Notes that the calling thread has taken `lock` shared. Up to 32 are remembered per thread; beyond that
/// they are forgotten, and recursion through them is not found.
void note_held(const void* lock) noexcept;
void note_released(const void* lock) noexcept;
[[nodiscard]] bool is_held(const void* lock) noexcept;

} // namespace ekiden::inline EKIDEN_ABI
