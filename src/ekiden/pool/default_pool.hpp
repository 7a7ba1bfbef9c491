/// The pool of those who name none.
///
/// Part: pool. Used by: fork-join and the parallel algorithms outside of any pool, programs.
#pragma once

#include <ekiden/pool/thread_pool.hpp>

namespace ekiden::inline EKIDEN_ABI {

/// The pool of this process: one worker per core that it may really use, started by the first call. It is
/// never destroyed, so that it works until the very end of the program; tasks that are still queued then are
/// lost. Thread-safe. The first call throws as the constructor of thread_pool; then the next one tries again.
/// The child of a fork() gets another one by its first call there.
[[nodiscard]] thread_pool& default_pool();

/// The pool whose worker the calling thread is, or else default_pool().
[[nodiscard]] thread_pool& this_pool();

} // namespace ekiden::inline EKIDEN_ABI
