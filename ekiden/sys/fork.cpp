#include <ekiden/sys/fork.hpp>

#if defined(__unix__) || defined(__APPLE__)
#include <pthread.h>
#endif

namespace ekiden::inline EKIDEN_ABI::sys {

bool at_fork_in_child(void (*action)()) noexcept {
#if defined(__unix__) || defined(__APPLE__)
    return pthread_atfork(nullptr, nullptr, action) == 0;
#else
    (void)action;
    return false;
#endif
}

} // namespace ekiden::inline EKIDEN_ABI::sys
