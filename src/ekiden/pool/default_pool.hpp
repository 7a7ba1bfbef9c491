/// The default pool: used when no pool is named.
///
/// Part: pool. Used by: fork-join and the parallel algorithms outside of any pool, programs.
#pragma once

#include <ekiden/pool/thread_pool.hpp>

namespace ekiden::inline EKIDEN_ABI {

/// Returns the pool of this process. The first call starts it, with one worker per usable processor.
///
/// The pool is never destroyed, so it works until the end of the program. Tasks that are still queued then
/// are lost. In the child of a fork(), the first call starts another pool.
///
/// Throws like the constructor of thread_pool. A later call then tries again. Thread-safe.
[[nodiscard]] thread_pool& default_pool();

/// Returns the pool whose worker the calling thread is, or else default_pool(). Throws like default_pool().
[[nodiscard]] thread_pool& this_pool();

} // namespace ekiden::inline EKIDEN_ABI
