/// The default pool, which is used if the program names no pool.
///
/// Part: pool. Used by: fork, async, programs.
#pragma once

#include <ekiden/pool/thread_pool.hpp>

namespace ekiden::inline EKIDEN_ABI {

/// Returns the default pool of this process. The first call starts the pool, with one worker for each usable
/// processor. The threads are named default-0, default-1 and so on. The other options have their default
/// values. So the pool starts no further thread while tasks block.
///
/// The default pool is never destroyed, so it works until the end of the program. Tasks that are still queued
/// at the end of the program are lost. In the child of a fork(), the first call starts a new pool.
///
/// Throws like the constructor of thread_pool. If a call throws, the next call tries again to start the pool.
/// Thread-safe.
[[nodiscard]] thread_pool& default_pool();

/// If the calling thread is a worker of a pool, returns that pool. Otherwise returns default_pool(). Throws
/// like default_pool().
[[nodiscard]] thread_pool& this_pool();

namespace detail {
/// If the calling thread is a worker of a pool, returns that pool. Otherwise returns null.
[[nodiscard]] thread_pool* pool_of_this_thread() noexcept;
} // namespace detail

} // namespace ekiden::inline EKIDEN_ABI
