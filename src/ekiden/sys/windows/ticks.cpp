#include <ekiden/sys/ticks.hpp>

#include <windows.h>

namespace ekiden::inline EKIDEN_ABI::sys {

// Windows does not say whether its own clock is based on the counter of the processor.
bool has_even_counter() noexcept { return false; }

std::uint64_t this_thread_cpu_ns() noexcept {
    FILETIME created{};
    FILETIME ended{};
    FILETIME in_kernel{};
    FILETIME in_program{};
    if (::GetThreadTimes(::GetCurrentThread(), &created, &ended, &in_kernel, &in_program) == 0) return 0;
    const auto ns = [](const FILETIME& time) { // the unit is 100 ns
        return (std::uint64_t{time.dwHighDateTime} << 32U | time.dwLowDateTime) * 100;
    };
    return ns(in_kernel) + ns(in_program);
}

} // namespace ekiden::inline EKIDEN_ABI::sys
