#include <ekiden/async/detail/limited_wait.hpp>

#include <ekiden/sys/mutant.hpp>
#include <ekiden/sys/thread.hpp>

namespace ekiden::inline EKIDEN_ABI::detail {

/// The timer is set first, because only this step can throw. A canceler that claims the wait before is_open
/// is set does nothing else. Such a canceler may run inside this call, where it must not wait for this
/// thread.
bool limited_wait::wait(const request& wanted) {
    if (limit_.is_timed()) set_timer(home_.env(), limit_.deadline());
    prepare(wanted);
    if (limit_.stop().stop_possible()) on_token_.emplace(limit_.stop(), token_stop{this});
    stop_state* const stop = home_.env().stop;
    if (stop != nullptr && !arm(*stop)) give_up(by_stop);
    // [AW3] Release: publishes the waiter to a canceler that claims the wait later. No acquire is needed,
    // because a canceler that claimed earlier has only set its bit.
    const std::uint8_t seen = parts_.fetch_or(is_open, sys::release);
    if ((seen & claims) != 0 && !EKIDEN_MUTANT(limited_wait_forgets_an_early_stop)) {
        refuse();
        return true;
    }
    if (enter_queue()) return true;
    leave_limit(false);
    (void)disarm();
    return false;
}

wait_result limited_wait::collect() noexcept {
    leave_limit(false);
    const wait_result how = lock_wait::collect();
    if (how == wait_result::done) return how;
    // Relaxed is enough, because the claim was written before the coroutine was posted.
    switch (parts_.load(sys::relaxed) & claims) {
    case by_token:
        return wait_result::stopped;
    case by_time:
        return wait_result::timed_out;
    default:
        return how;
    }
}

/// Ends the use of the stop token and the timer. When leave_limit() has returned, the token and the timer no
/// longer access the frame.
void limited_wait::leave_limit(bool ends) noexcept {
    on_token_.reset();
    if (!has_timer()) return;
    // Relaxed is enough, because timer_ended() reads this bit and no other data.
    if (ends) (void)parts_.fetch_or(is_ending, sys::relaxed);
    cancel_timer();
    // [AW4] Acquire: the last access of the timer to the frame happens before this step. Pairs with the
    // release in timer_ended(). The loop waits only if another thread is firing the timer.
    while ((parts_.load(sys::acquire) & has_timer_left) == 0 && !EKIDEN_MUTANT(limited_wait_leaves_its_timer))
        sys::yield();
    leave_timer();
}

// ---- cancelers

/// Claims the wait for a canceler. Returns true if no other canceler has claimed the wait before, and if
/// is_open is set.
bool limited_wait::claim(std::uint8_t why) noexcept {
    std::uint8_t seen = parts_.load(sys::relaxed);
    do {
        if ((seen & claims) != 0) return false;
        // [AW3] Acquire: this thread sees the waiter. Pairs with the release in wait().
    } while (!parts_.compare_exchange_weak(seen, static_cast<std::uint8_t>(seen | why), sys::acquire,
                                           sys::relaxed));
    return (seen & is_open) != 0;
}

void limited_wait::give_up(std::uint8_t why) noexcept {
    if (claim(why) && take_back()) home_.resume();
}

void limited_wait::environment_stopped(stop_node& self) noexcept {
    static_cast<limited_wait&>(self).give_up(by_stop);
}

/// has_timer_left is set before the coroutine is posted, because an executor may destroy the frame inside the
/// post. The coroutine is posted even if the context has shut down. The executor then refuses the coroutine,
/// and so destroys it.
void limited_wait::timer_ended(timer_end how) noexcept {
    const bool takes = how != timer_end::canceled && claim(by_time) && take_back();
    // [AW4] Release: this is the last access of this thread to the frame, unless the thread posts the
    // coroutine.
    const std::uint8_t before = parts_.fetch_or(has_timer_left, sys::release);
    if (takes && (before & is_ending) == 0) home_.resume(task_order::immediate);
}

} // namespace ekiden::inline EKIDEN_ABI::detail
