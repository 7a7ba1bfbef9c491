#include <ekiden/async/detail/limited_wait.hpp>

#include <ekiden/queue/recycler.hpp>
#include <ekiden/sys/clock.hpp>
#include <ekiden/sys/mutant.hpp>
#include <ekiden/sys/thread.hpp>
#include <ekiden/timer/detail/timer_service.hpp>

namespace ekiden::inline EKIDEN_ABI::detail {

/// The timer is set first, because only that can throw. A canceler that comes before is_open only leaves its
/// claim: it may run inside of this call, and would wait for this thread otherwise.
bool limited_wait::wait(const request& wanted) {
    set_timer();
    prepare(wanted);
    if (limit_.stop().stop_possible()) on_token_.emplace(limit_.stop(), token_stop{this});
    stop_state* const stop = home_.env().stop;
    if (stop != nullptr && !arm(*stop)) give_up(by_stop);
    // [AW3] release: the waiter, for the canceler that claims later. Nothing is acquired from an earlier one,
    // which has only left its claim.
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
    // Relaxed: the claim was written before the coroutine was posted.
    switch (parts_.load(sys::relaxed) & claims) {
    case by_token:
        return wait_result::stopped;
    case by_time:
        return wait_result::timed_out;
    default:
        return how;
    }
}

void limited_wait::set_timer() {
    if (!limit_.is_timed()) return;
    using service = timer_service<sys::clock::time_point::clock>;
    auto* const timer =
        recycler::create<timer_state>(use_service<service>(home_.env().executor.context()).queue());
    try {
        timer->add(*this, service::count(limit_.deadline()));
    } catch (...) {
        timer->leave();
        throw;
    }
    timer_.write(timer);
}

/// Returns when neither the token nor the timer touches the frame any more.
void limited_wait::leave_limit(bool ends) noexcept {
    on_token_.reset();
    timer_state* const timer = timer_.read();
    if (timer == nullptr) return;
    timer_.write(nullptr);
    // Relaxed: let_go() reads this bit and no other data.
    if (ends) (void)parts_.fetch_or(is_ending, sys::relaxed);
    (void)timer->cancel();
    // [AW4] acquire: the timer's last touch; pairs with let_go(). It waits only while a thread fires the
    // timer.
    while ((parts_.load(sys::acquire) & has_timer_left) == 0 && !EKIDEN_MUTANT(limited_wait_leaves_its_timer))
        sys::yield();
    timer->leave();
}

// ---- cancelers

/// Returns true for the first canceler, if the waiter is on its way into the lock.
bool limited_wait::claim(std::uint8_t why) noexcept {
    std::uint8_t seen = parts_.load(sys::relaxed);
    do {
        if ((seen & claims) != 0) return false;
        // [AW3] acquire: the waiter; pairs with the release in wait().
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

/// The timer's state posts this: it expired, or was canceled before.
void limited_wait::come_due(timer_wait& self) noexcept {
    bool has_come = false;
    {
        const run_scope scope(self);
        has_come = !scope.is_canceled();
    }
    static_cast<limited_wait&>(self).let_go(has_come);
}

/// The timer lets go before the coroutine is posted, because an executor may destroy the frame inside of the
/// post.
void limited_wait::let_go(bool has_come) noexcept {
    const bool takes = has_come && claim(by_time) && take_back();
    // [AW4] release: this thread's last touch, unless it posts the coroutine.
    const std::uint8_t before = parts_.fetch_or(has_timer_left, sys::release);
    if (takes && (before & is_ending) == 0) home_.resume(task_order::immediate);
}

const char* limited_wait::answer(task* self, task_request request) {
    if (request == task_request::describe) return type_description<limited_wait>();
    auto& own = *static_cast<limited_wait*>(self); // the context shuts down
    own.drop();
    own.let_go(true); // the executor refuses the coroutine, which ends it
    return nullptr;
}

} // namespace ekiden::inline EKIDEN_ABI::detail
