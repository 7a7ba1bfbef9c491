/// Which locks this thread holds shared: to find a thread that would wait for itself. Only used where
/// lock_checks is set.
///
/// Part: sync. Used by: rw_mutex.
#pragma once

#include <ekiden/sync/contract.hpp>

namespace ekiden::inline EKIDEN_ABI {

/// Notes that the calling thread has taken `lock` shared. Up to 32 are remembered per thread; beyond that
/// they are forgotten, and recursion through them is not found.
void note_held(const void* lock) noexcept;
void note_released(const void* lock) noexcept;
[[nodiscard]] bool is_held(const void* lock) noexcept;

} // namespace ekiden::inline EKIDEN_ABI
