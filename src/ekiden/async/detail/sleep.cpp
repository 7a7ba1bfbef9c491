#include <ekiden/async/sleep.hpp>

#include <ekiden/sys/mutant.hpp>
#include <ekiden/sys/thread.hpp>

#include <algorithm>
#include <utility>

namespace ekiden::inline EKIDEN_ABI::detail {

/// begin() arms the stop node before it sets the timer, and the timer may end before begin() returns. Before
/// publish(), the end of the timer does not resume the coroutine, and a stop request does not cancel the
/// timer. In these cases, publish() resumes the coroutine or cancels the timer.
void sleep_awaiter::begin() {
    const environment& env = home_.env();
    is_cut_ = env.deadline < time_;
    if (env.stop != nullptr && !arm(*env.stop)) {
        is_canceled_.write(true);
        home_.resume();
        return;
    }
    set_timer(env, std::min(env.deadline, time_));
    publish();
}

/// [TW1] The later of publish() and timer_ended() resumes the coroutine. The later of publish() and stopped()
/// cancels the timer. Release: publishes the timer, and orders all earlier accesses of this thread to the
/// awaiter before this step. Acquire: pairs with the release in timer_ended(). Relaxed is enough on failure,
/// because a stop request publishes nothing, and the attempt that succeeds acquires.
void sleep_awaiter::publish() noexcept {
    std::uint8_t seen = 0;
    bool has_canceled = false;
    while (!parts_.compare_exchange_strong(seen, seen | has_begun, sys::acq_rel, sys::relaxed)) {
        if ((seen & is_stopped) == 0 || EKIDEN_MUTANT(sleep_forgets_early_stop)
            || std::exchange(has_canceled, true))
            continue;
        cancel_timer(); // ends the timer, unless another thread is about to fire it
    }
    if ((seen & is_due) != 0) home_.resume();
}

/// Called by the thread that requests the stop. [TW1] Acquire: this thread sees the timer. No release is
/// needed, because publish() reads no data of this thread.
void sleep_awaiter::stopped(stop_node& self) noexcept {
    auto& own = static_cast<sleep_awaiter&>(self);
    if ((own.parts_.fetch_or(is_stopped, sys::acquire) & has_begun) != 0) own.cancel_timer();
}

void sleep_awaiter::timer_ended(timer_end how) noexcept {
    is_canceled_.write(how != timer_end::expired);
    // [TW1] Release: publishes is_canceled_. If this thread does not resume the coroutine, this step is its
    // last access to the awaiter. Acquire: the last access of publish() to the awaiter happens before the
    // coroutine resumes.
    const std::uint8_t before = parts_.fetch_or(is_due, sys::acq_rel);
    if ((before & (has_begun | is_ending)) == has_begun) home_.resume(task_order::immediate);
}

/// Ends the wait. Returns true if the time has come.
bool sleep_awaiter::end() noexcept {
    (void)disarm();
    leave_timer();
    return !is_canceled_.read() && !is_cut_;
}

sleep_awaiter::~sleep_awaiter() {
    (void)disarm();
    if (!has_timer()) return;
    if ((parts_.fetch_or(is_ending, sys::acq_rel) & (has_begun | is_due)) == has_begun) { // [TW1]
        cancel_timer();
        // The timer has ended now, unless another thread is firing it.
        while ((parts_.load(sys::acquire) & is_due) == 0) sys::yield();
    }
    leave_timer();
}

} // namespace ekiden::inline EKIDEN_ABI::detail
