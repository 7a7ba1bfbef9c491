#include <ekiden/sys/stack.hpp>

#include <pthread.h>

namespace ekiden::inline EKIDEN_ABI::sys {

stack_range this_thread_stack() noexcept {
    const auto high = reinterpret_cast<std::uintptr_t>(::pthread_get_stackaddr_np(::pthread_self()));
    const std::size_t size = ::pthread_get_stacksize_np(::pthread_self());
    return {high - size, size};
}

} // namespace ekiden::inline EKIDEN_ABI::sys
