#include <ekiden/sys/asymmetric_fence.hpp>

#include <windows.h>

namespace ekiden::inline EKIDEN_ABI::sys {

const bool has_asymmetric_fence = true;

void fence_heavy() noexcept {
    fence(seq_cst);
    ::FlushProcessWriteBuffers();
}

} // namespace ekiden::inline EKIDEN_ABI::sys
