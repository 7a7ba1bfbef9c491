#include <ekiden/timer/waitable_timer.hpp>

#include <ekiden/context/thread_context.hpp>
#include <ekiden/timer/detail/timer_queue.hpp>

#include <algorithm>
#include <chrono>

namespace ekiden::inline EKIDEN_ABI::detail {

bool timer_sleep::sleep_until(sys::clock::time_point time, bool is_trusted) noexcept {
    if (limit_.is_reached()) return false;
    if (limit_.is_timed()) time = std::min(time, limit_.deadline());
    if (!is_trusted)
        time = std::min(time, sys::clock::now() + std::chrono::nanoseconds(timer_clock::longest_trust));
    const blocked_here here("timer::wait");
    // A stop request leaves a wake-up token, so park_until() returns even if the request came earlier.
    (void)sleeper_.park_until(time);
    return !limit_.is_reached();
}

} // namespace ekiden::inline EKIDEN_ABI::detail
