#include <ekiden/sys/ticks.hpp>

#include <time.h>

namespace ekiden::inline EKIDEN_ABI::sys {

bool has_even_counter() noexcept {
#if defined(__aarch64__)
    return true; // the system's clock is based on the architecture's timer
#else
    return false; // macOS does not say whether its clock is based on the counter of the processor
#endif
}

std::uint64_t this_thread_cpu_ns() noexcept { return ::clock_gettime_nsec_np(CLOCK_THREAD_CPUTIME_ID); }

} // namespace ekiden::inline EKIDEN_ABI::sys
