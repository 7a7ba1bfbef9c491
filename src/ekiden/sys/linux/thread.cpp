#include <ekiden/sys/thread.hpp>

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace ekiden::inline EKIDEN_ABI::sys {

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
