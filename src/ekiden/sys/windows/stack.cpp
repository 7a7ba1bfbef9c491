#include <ekiden/sys/stack.hpp>

#include <windows.h>

namespace ekiden::inline EKIDEN_ABI::sys {

stack_range this_thread_stack() noexcept {
    ULONG_PTR low = 0;
    ULONG_PTR high = 0;
    ::GetCurrentThreadStackLimits(&low, &high);
    return {low, high - low};
}

} // namespace ekiden::inline EKIDEN_ABI::sys
