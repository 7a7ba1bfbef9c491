#include <ekiden/sys/ticks.hpp>

#include <fstream>
#include <string>
#include <time.h>

namespace ekiden::inline EKIDEN_ABI::sys {

bool has_even_counter() noexcept {
#if defined(__x86_64__)
    // The kernel compares the counters of all processors. If the counters differ, the kernel uses another
    // clock.
    static const bool is_trusted = [] {
        try {
            std::ifstream file("/sys/devices/system/clocksource/clocksource0/current_clocksource");
            std::string name;
            return static_cast<bool>(file >> name) && name == "tsc";
        } catch (...) { // no memory
            return false;
        }
    }();
    return is_trusted;
#elif defined(__aarch64__)
    return true; // the system's clock is based on the architecture's timer
#else
    return false;
#endif
}

std::uint64_t this_thread_cpu_ns() noexcept {
#if !defined(EKIDEN_CHECKING) && !defined(EKIDEN_TIMED)
    timespec used{};
    if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used) == 0)
        return static_cast<std::uint64_t>(used.tv_sec) * 1'000'000'000U
               + static_cast<std::uint64_t>(used.tv_nsec);
#endif
    return 0;
}

} // namespace ekiden::inline EKIDEN_ABI::sys
