#include <ekiden/timer/waitable_timer.hpp>

#include <ekiden/context/thread_context.hpp>
#include <ekiden/sys/parker.hpp>
#include <ekiden/timer/timer_queue.hpp>

#include <algorithm>
#include <chrono>

namespace ekiden::inline EKIDEN_ABI::detail {

void sleep_until(sys::clock::time_point time, bool is_trusted) {
    if (!is_trusted)
        time = std::min(time, sys::clock::now() + std::chrono::nanoseconds(timer_clock::longest_trust));
    const blocked_here here("timer::wait");
    sys::parker nobody;
    (void)nobody.park_until(time);
}

} // namespace ekiden::inline EKIDEN_ABI::detail
