/// A pair of fences with unequal cost. The light fence is free, and the heavy fence is a system call.
///
/// Part: sys. Used by: queue, pool.
///
/// A light fence in one thread and a heavy fence in another thread order memory accesses like two seq_cst
/// fences. See asymmetric_thread_fence in the C++ proposal P1202R5. If both threads execute light fences,
/// these fences only prevent reordering by the compiler. On Linux, the heavy fence is
/// membarrier(PRIVATE_EXPEDITED), which is registered once per process. On other systems, or if the kernel
/// refuses membarrier, both fences are seq_cst fences.
#pragma once

#include <ekiden/sys/atomic.hpp>

#if defined(EKIDEN_CHECKING)
#include <check/engine/asymmetric_fence.hpp>
#else

namespace ekiden::inline EKIDEN_ABI::sys {

/// True if the heavy fence is a system call. The value is constant after the static initialization of the
/// program. Until then the value is false, and light fences are full fences.
extern const bool has_asymmetric_fence;

/// Executes the light fence. If the heavy fence is a system call, the light fence is a compiler barrier.
/// Otherwise the light fence is a full fence.
inline void fence_light() noexcept {
#if defined(EKIDEN_TSAN)
    fence(seq_cst);
#else
    if (has_asymmetric_fence) [[likely]]
        std::atomic_signal_fence(seq_cst);
    else
        fence(seq_cst);
#endif
}

/// Executes the heavy fence: every running thread of the process executes a full fence before the function
/// returns. Aborts the program if the system first grants membarrier and later refuses it, for example
/// because a sandbox has started.
void fence_heavy() noexcept;

} // namespace ekiden::inline EKIDEN_ABI::sys
#endif
