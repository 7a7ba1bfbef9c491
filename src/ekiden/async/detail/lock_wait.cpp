#include <ekiden/async/detail/lock_wait.hpp>

#include <ekiden/context/simulated.hpp>
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
    // [AW2] release: take_back() need not look any longer, and what follows here is not before it.
    phase_.store(phase::served, sys::release);
    return false;
}

bool lock_wait::wait(const request& wanted) noexcept {
    prepare(wanted);
    // The stop is armed before the waiter is published, because the frame may be gone as soon as the lock has
    // the waiter. A stop that comes in between retries until the waiter is there.
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

// In the thread that has left the lock.
void lock_wait::served(waiter& who) noexcept {
    auto& self = *static_cast<lock_wait*>(who.context);
    // [AW1] Acquires nothing: the coroutine's end alone waits for the other side. relaxed: resume() releases.
    if (self.phase_.exchange(phase::served, sys::relaxed) == phase::ending) {
        self.phase_.store(phase::let_go, sys::release); // [AW1] release; pairs with leave_queue()
        return;
    }
    self.home_.resume();
}

// In the thread that requests the stop.
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
        if (result == withdrawal::served) return false; // what was granted is delivered
        // Done without a wait? Relaxed: [AW2] is enough, because nothing is read after it.
        if (phase_.load(sys::relaxed) != phase::waiting) return false;
        sys::yield(); // the coroutine is a few steps before the lock
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

// The frame ends while it waits.
bool lock_wait::leave_queue() noexcept {
    (void)disarm();
    if (phase_.load(sys::relaxed) != phase::waiting) return phase_.load(sys::relaxed) == phase::served;
    if (lock_->cancel(*waiter_)) return false;
    // A releaser has chosen it, and has not told it perhaps.
    if (phase_.exchange(phase::ending, sys::relaxed) == phase::served) return true;
    // [AW1] acquire: the releaser's last touch of the frame; pairs with served().
    while (phase_.load(sys::acquire) != phase::let_go) sys::yield();
    return !EKIDEN_MUTANT(async_end_forgets_the_grant);
}

bool pause_before_look(unsigned looks) noexcept {
    // 480 pauses in all, 13 us on an AMD EPYC: meanwhile what the other thread changes stays in its cache,
    // for several changes.
    constexpr unsigned most_looks = 5;
    constexpr unsigned first_pauses = 32;
    if (looks == most_looks || !sys::spinning_pays() || simulation_here() != nullptr) return false;
    for (unsigned pauses = first_pauses << (looks - 1); pauses != 0; --pauses) sys::spin_hint();
    return true;
}

} // namespace ekiden::inline EKIDEN_ABI::detail
