#include <ekiden/sys/thread_probe.hpp>

#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

namespace ekiden::inline EKIDEN_ABI::sys {

thread_probe thread_probe::of_this_thread() noexcept {
    thread_probe made;
    clockid_t own = 0;
    if (pthread_getcpuclockid(pthread_self(), &own) == 0) made.clock_ = own;
    made.thread_ = ::syscall(SYS_gettid);
    return made;
}

std::uint64_t thread_probe::cpu_ns() const noexcept {
    timespec used{};
    if (clock_ == 0 || clock_gettime(static_cast<clockid_t>(clock_), &used) != 0) return 0;
    return static_cast<std::uint64_t>(used.tv_sec) * 1'000'000'000U
           + static_cast<std::uint64_t>(used.tv_nsec);
}

bool thread_probe::is_asleep() const noexcept {
    if (thread_ == 0) return false;
    char text[256];
    (void)std::snprintf(text, sizeof text, "/proc/self/task/%ld/stat", thread_);
    const int file = ::open(text, O_RDONLY | O_CLOEXEC);
    if (file < 0) return false;
    const ssize_t size = ::read(file, text, sizeof text - 1);
    ::close(file);
    if (size <= 0) return false;
    text[size] = '\0';
    // The line has the form "number (name) state ...". The name may contain any character, including
    // parentheses.
    const char* const name_end = std::strrchr(text, ')');
    if (name_end == nullptr || name_end[1] != ' ') return false;
    return name_end[2] == 'S' || name_end[2] == 'D';
}

} // namespace ekiden::inline EKIDEN_ABI::sys
