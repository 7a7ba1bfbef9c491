#include <ekiden/sys/start_thread.hpp>

#include <algorithm>
#include <pthread.h>

namespace ekiden::inline EKIDEN_ABI::sys {

std::uint64_t system_thread_id() noexcept {
    std::uint64_t id = 0;
    (void)::pthread_threadid_np(nullptr, &id);
    return id;
}

// macOS does not let a program choose the processors of a thread.
bool set_thread_affinity(std::span<const int>) noexcept { return false; }

unsigned quality_of_service() noexcept {
    // The highest class is for the thread that draws. Many workers of this class would compete with it.
    return std::min<unsigned>(::qos_class_self(), QOS_CLASS_USER_INITIATED);
}

void set_quality_of_service(unsigned wanted) noexcept {
    if (wanted != QOS_CLASS_UNSPECIFIED)
        (void)::pthread_set_qos_class_self_np(static_cast<qos_class_t>(wanted), 0);
}

} // namespace ekiden::inline EKIDEN_ABI::sys
