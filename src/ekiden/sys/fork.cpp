#include <ekiden/sys/fork.hpp>

// The model checker forks between the executions that it explores, and the computed machine forks before each
// run. The programs that they run do not call fork().
#if (defined(__unix__) || defined(__APPLE__)) && !defined(EKIDEN_CHECKING) && !defined(EKIDEN_TIMED)
#define EKIDEN_HAS_FORK 1
#include <pthread.h>
#endif

namespace ekiden::inline EKIDEN_ABI::sys {

bool at_fork(void (*before)(), void (*in_parent)(), void (*in_child)()) noexcept {
#if defined(EKIDEN_HAS_FORK)
    return pthread_atfork(before, in_parent, in_child) == 0;
#else
    (void)before, (void)in_parent, (void)in_child;
    return false;
#endif
}

std::uint16_t fork_generation_here = 0;

namespace {
[[maybe_unused]] const bool is_counted = at_fork(nullptr, nullptr, [] { ++fork_generation_here; });
} // namespace

} // namespace ekiden::inline EKIDEN_ABI::sys
