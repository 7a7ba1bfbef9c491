#include <ekiden/sys/asymmetric_fence.hpp>

namespace ekiden::inline EKIDEN_ABI::sys {

// macOS has no system call that makes all threads of the process execute a fence. So both fences are full.
const bool has_asymmetric_fence = false;

void fence_heavy() noexcept { fence(seq_cst); }

} // namespace ekiden::inline EKIDEN_ABI::sys
