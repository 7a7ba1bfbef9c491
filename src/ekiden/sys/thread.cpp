#include <ekiden/sys/thread.hpp>

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#if defined(__linux__)
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace ekiden::inline EKIDEN_ABI::sys {
namespace {

thread_local constinit bool has_run_exit_actions = false;

struct exit_actions {
    std::vector<std::pair<void (*)(void*), void*>> list;

    ~exit_actions() {
        while (!list.empty()) {
            const auto [action, argument] = list.back();
            list.pop_back();
            action(argument);
        }
        has_run_exit_actions = true;
    }

    static exit_actions& of_this_thread() {
        static thread_local exit_actions actions;
        return actions;
    }
};

/// Creates the main thread's list at the start of the program. So the list is destroyed with the thread_local
/// objects of the main thread. If the destructor of a static object created the list later, the list would
/// never be destroyed.
[[maybe_unused]] const exit_actions& of_main_thread = exit_actions::of_this_thread();

} // namespace

bool at_thread_exit(void (*action)(void*), void* argument) {
    if (has_run_exit_actions) return false;
    exit_actions::of_this_thread().list.emplace_back(action, argument);
    return true;
}

void set_thread_name(std::string_view name) noexcept {
#if defined(__linux__)
    char buffer[16] = {};
    std::size_t length = std::min(name.size(), sizeof buffer - 1);
    // Does not cut a UTF-8 character in two, because tools that list threads could not show half of a
    // character.
    while (length != 0 && length != name.size()
           && (static_cast<unsigned char>(name[length]) & 0xc0U) == 0x80U)
        --length;
    (void)name.copy(buffer, length);
    (void)pthread_setname_np(pthread_self(), buffer);
#else
    (void)name;
#endif
}

std::string this_thread_name() {
    char buffer[16] = {};
#if defined(__linux__)
    (void)pthread_getname_np(pthread_self(), buffer, sizeof buffer);
#endif
    return buffer;
}

std::uint64_t system_thread_id() noexcept {
#if defined(__linux__)
    return static_cast<std::uint64_t>(::syscall(SYS_gettid));
#else
    return std::hash<std::thread::id>()(std::this_thread::get_id());
#endif
}

bool set_thread_affinity(std::span<const int> cpus) noexcept {
#if defined(__linux__)
    cpu_set_t set;
    CPU_ZERO(&set);
    for (const int cpu : cpus) {
        if (cpu >= 0 && cpu < CPU_SETSIZE) CPU_SET(static_cast<std::size_t>(cpu), &set);
    }
    return sched_setaffinity(0, sizeof set, &set) == 0;
#else
    (void)cpus;
    return false;
#endif
}

} // namespace ekiden::inline EKIDEN_ABI::sys
