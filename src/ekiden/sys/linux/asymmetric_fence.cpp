#include <ekiden/sys/asymmetric_fence.hpp>

#include <ekiden/sys/contract.hpp>

#include <cerrno>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace ekiden::inline EKIDEN_ABI::sys {
namespace {

#if defined(SYS_membarrier) && !defined(EKIDEN_TSAN)
bool membarrier(int command) noexcept { return ::syscall(SYS_membarrier, command, 0U, 0) == 0; }

bool register_process() noexcept { return membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED); }
#else
bool register_process() noexcept { return false; }
#endif

} // namespace

// A thread that runs before this initializer reads false, so both fences of the thread are full fences. Full
// fences are correct there, because a full fence pairs both with the system call and with another full fence.
const bool has_asymmetric_fence = register_process();

void fence_heavy() noexcept {
    fence(seq_cst);
#if defined(SYS_membarrier) && !defined(EKIDEN_TSAN)
    if (!has_asymmetric_fence) return;
    while (!membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED)) {
        // The light fence executes no fence instruction. So without the heavy fence, tasks could be lost.
        expects(errno == ENOMEM, "the system has withdrawn membarrier, which it had granted at the start");
    }
#endif
}

} // namespace ekiden::inline EKIDEN_ABI::sys
