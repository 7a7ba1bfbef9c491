#include <ekiden/sys/stack.hpp>

#include <pthread.h>

namespace ekiden::inline EKIDEN_ABI::sys {

stack_range this_thread_stack() noexcept {
    pthread_attr_t attributes;
    if (pthread_getattr_np(pthread_self(), &attributes) != 0) return {};
    void* low = nullptr;
    std::size_t size = 0;
    const bool is_known = pthread_attr_getstack(&attributes, &low, &size) == 0;
    (void)pthread_attr_destroy(&attributes);
    return is_known ? stack_range{reinterpret_cast<std::uintptr_t>(low), size} : stack_range{};
}

} // namespace ekiden::inline EKIDEN_ABI::sys
