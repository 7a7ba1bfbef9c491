#include <ekiden/sys/thread.hpp>

#include <algorithm>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace ekiden::inline EKIDEN_ABI::sys {

void set_thread_name(std::string_view name) noexcept {
    char buffer[16] = {};
    std::size_t length = std::min(name.size(), sizeof buffer - 1);
    // Does not cut a UTF-8 character in two, because tools that list threads could not show half of a
    // character.
    while (length != 0 && length != name.size()
           && (static_cast<unsigned char>(name[length]) & 0xc0U) == 0x80U)
        --length;
    (void)name.copy(buffer, length);
    (void)pthread_setname_np(pthread_self(), buffer);
}

std::string this_thread_name() {
    char buffer[16] = {};
    (void)pthread_getname_np(pthread_self(), buffer, sizeof buffer);
    return buffer;
}

std::uint64_t system_thread_id() noexcept { return static_cast<std::uint64_t>(::syscall(SYS_gettid)); }

bool set_thread_affinity(std::span<const int> cpus) noexcept {
    cpu_set_t set;
    CPU_ZERO(&set);
    for (const int cpu : cpus) {
        if (cpu >= 0 && cpu < CPU_SETSIZE) CPU_SET(static_cast<std::size_t>(cpu), &set);
    }
    return sched_setaffinity(0, sizeof set, &set) == 0;
}

} // namespace ekiden::inline EKIDEN_ABI::sys
