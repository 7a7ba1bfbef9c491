/// A pair of fences whose cost falls on one side: the light one is free, the heavy one is a system call.
///
/// Part: sys. Used by: queue (owner against thief), pool (submit against sleep, submit against stop).
///
/// A light fence in one thread and a heavy fence in another order like two seq_cst fences (P1202R5,
/// asymmetric_thread_fence). Two light fences order nothing but the compiler. On Linux the heavy side is
/// membarrier(PRIVATE_EXPEDITED), registered once per process; where the kernel refuses it, and on other
/// systems, both sides are seq_cst fences.
#pragma once

#include <ekiden/sys/atomic.hpp>

#if defined(EKIDEN_CHECKING)
#include <check/engine/asymmetric_fence.hpp>
#else

namespace ekiden::inline EKIDEN_ABI::sys {

/// True when the kernel makes the heavy fence for us. Constant after the program's static initialisation;
/// false before it, when light fences are full ones.
extern const bool has_asymmetric_fence;

/// The cheap side: a compiler barrier where the heavy side is a system call.
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

/// The dear side: every running thread of this process passes a full fence before this returns. About 1 us
/// per call. Aborts if the system refuses what it granted at the start (a sandbox that closes later).
void fence_heavy() noexcept;

} // namespace ekiden::inline EKIDEN_ABI::sys
#endif
