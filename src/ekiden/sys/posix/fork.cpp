#include <ekiden/sys/fork.hpp>

#include <pthread.h>

namespace ekiden::inline EKIDEN_ABI::sys {

bool at_fork(void (*before)(), void (*in_parent)(), void (*in_child)()) noexcept {
#if defined(EKIDEN_CHECKING) || defined(EKIDEN_TIMED)
    // The model checker forks between the executions that it explores, and the computed machine forks before
    // each run. The programs that they run do not call fork().
    (void)before, (void)in_parent, (void)in_child;
    return false;
#else
    return pthread_atfork(before, in_parent, in_child) == 0;
#endif
}

std::uint16_t fork_generation_here = 0;

namespace {
[[maybe_unused]] const bool is_counted = at_fork(nullptr, nullptr, [] { ++fork_generation_here; });
} // namespace

} // namespace ekiden::inline EKIDEN_ABI::sys
