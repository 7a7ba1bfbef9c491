/// A pair of fences with unequal cost: the light one is free, the heavy one is a system call.
///
/// Part: sys. Used by: queue (owner against thief), pool (submit against sleep, submit against stop).
///
/// A light fence in one thread and a heavy fence in another thread order like two seq_cst fences (P1202R5,
/// asymmetric_thread_fence). Two light fences only restrain the compiler. On Linux, the heavy fence is
/// membarrier(PRIVATE_EXPEDITED), which is registered once per process. If the kernel refuses it, and on
/// other systems, both fences are seq_cst fences.
#pragma once

#include <ekiden/sys/atomic.hpp>

#if defined(EKIDEN_CHECKING)
#include <check/engine/asymmetric_fence.hpp>
#else

namespace ekiden::inline EKIDEN_ABI::sys {

/// True if the heavy fence is a system call. Constant after the static initialization of the program. Before
/// that it is false, and light fences are full fences.
extern const bool has_asymmetric_fence;

/// The cheap side. It is a compiler barrier if the heavy fence is a system call.
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

/// The expensive side. Every running thread of the process executes a full fence before this returns. Aborts
/// if the system first grants membarrier and refuses it later, for example because a sandbox has started.
void fence_heavy() noexcept;

} // namespace ekiden::inline EKIDEN_ABI::sys
#endif
