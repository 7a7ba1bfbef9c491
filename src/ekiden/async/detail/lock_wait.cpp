#include <ekiden/async/detail/lock_wait.hpp>

#include <ekiden/context/simulated.hpp>
#include <ekiden/sys/clock.hpp>
#include <ekiden/sys/mutant.hpp>
#include <ekiden/sys/spin.hpp>
#include <ekiden/sys/thread.hpp>

namespace ekiden::inline EKIDEN_ABI::detail {

void lock_wait::prepare(const request& wanted) noexcept {
    new (&waiter_) async_waiter;
    waiter& mine = *waiter_;
    mine.mask = wanted.states;
    mine.transition = wanted.change;
    mine.pure = wanted.pure;
    mine.context = this;
    mine.resume = &served;
    lock_ = &wanted.lock;
    phase_.store(phase::waiting, sys::relaxed);
}

bool lock_wait::enter_queue() noexcept {
    if (!lock_->start(*waiter_)) return true;
    // [AW2] Release: when take_back() sees this value, it stops its search for the waiter. Pairs with the
    // load in take_back().
    phase_.store(phase::served, sys::release);
    return false;
}

bool lock_wait::wait(const request& wanted) noexcept {
    prepare(wanted);
    // The stop node is armed before the waiter is pushed, because the frame may be destroyed as soon as the
    // lock has the waiter. If a stop is requested between these two steps, the requesting thread retries
    // until the waiter is in the lock.
    stop_state* const stop = home_.env().stop;
    if (EKIDEN_MUTANT(async_wait_arms_last)) {
        const bool is_done = wanted.lock.start(*waiter_);
        if (stop != nullptr) (void)arm(*stop);
        if (is_done) phase_.store(phase::served, sys::relaxed);
        return !is_done;
    }
    if (stop != nullptr && !arm(*stop)) {
        refuse();
        return true;
    }
    if (enter_queue()) return true;
    if (stop != nullptr) (void)disarm();
    return false;
}

// Called by the thread that has released the lock, after the release.
void lock_wait::served(waiter& who) noexcept {
    auto& self = *static_cast<lock_wait*>(who.context);
    // [AW1] Relaxed is enough, because resume() publishes the grant to the coroutine. Only leave_queue()
    // waits for let_go.
    if (self.phase_.exchange(phase::served, sys::relaxed) == phase::ending) {
        // [AW1] Release: this is the last access of this thread to the frame. Pairs with the acquire in
        // leave_queue().
        self.phase_.store(phase::let_go, sys::release);
        return;
    }
    self.home_.resume();
}

// Called by the thread that requests the stop.
void lock_wait::stopped(stop_node& node) noexcept {
    auto& self = static_cast<lock_wait&>(node);
    if (self.take_back()) self.home_.resume();
}

bool lock_wait::take_back() noexcept {
    for (;;) {
        const withdrawal result = lock_->withdraw(*waiter_);
        if (result == withdrawal::taken_out
            || (result == withdrawal::served && EKIDEN_MUTANT(async_stop_takes_back_what_was_given))) {
            phase_.store(phase::canceled, sys::relaxed);
            return true;
        }
        if (result == withdrawal::served) return false; // the coroutine gets the grant.
        // Returns if the operation was done without a wait. [AW2] Relaxed is enough, because this thread
        // reads no data afterwards.
        if (phase_.load(sys::relaxed) != phase::waiting) return false;
        sys::yield(); // the coroutine pushes the waiter within a few steps
    }
}

wait_result lock_wait::collect_late(phase ended) noexcept {
    if (!EKIDEN_MUTANT(async_wait_leaves_its_stop_armed)) (void)disarm();
    return ended == phase::canceled ? why_stopped() : wait_result::done;
}

wait_result way_home::why_stopped() const noexcept {
    const auto deadline = home_.env().deadline;
    const bool is_late = deadline != sys::clock::time_point::max() && now_here<sys::clock>() >= deadline;
    return is_late ? wait_result::timed_out : wait_result::stopped;
}

// Called if the frame is destroyed while the coroutine waits.
bool lock_wait::leave_queue() noexcept {
    (void)disarm();
    if (phase_.load(sys::relaxed) != phase::waiting) return phase_.load(sys::relaxed) == phase::served;
    if (lock_->cancel(*waiter_)) return false;
    // A releaser has chosen the waiter, and may not have called served() yet.
    if (phase_.exchange(phase::ending, sys::relaxed) == phase::served) return true;
    // [AW1] Acquire: the last access of the releaser to the frame happens before this step. Pairs with the
    // release in served().
    while (phase_.load(sys::acquire) != phase::let_go) sys::yield();
    return !EKIDEN_MUTANT(async_end_forgets_the_grant);
}

// During a pause, the data of the lock stays in the cache of the other thread, which can then make several
// changes. Therefore the first pause is longer than the first pause of sys::back_off, which is as short as
// one change.
bool pause_before_attempt(unsigned attempts) noexcept {
    constexpr unsigned most_attempts = 5;
    constexpr unsigned first_pauses = 32;
    if (attempts == most_attempts || !sys::spinning_pays() || simulation_here() != nullptr) return false;
    for (unsigned pauses = first_pauses << (attempts - 1); pauses != 0; --pauses) sys::spin_hint();
    return true;
}

} // namespace ekiden::inline EKIDEN_ABI::detail
