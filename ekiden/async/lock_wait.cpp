#include <ekiden/async/lock_wait.hpp>

#include <ekiden/context/simulated.hpp>
#include <ekiden/sys/mutant.hpp>
#include <ekiden/sys/spin.hpp>
#include <ekiden/sys/thread.hpp>

namespace ekiden::inline EKIDEN_ABI::detail {

bool lock_wait::wait(const request& wanted) noexcept {
    new (&waiter_) async_waiter;
    waiter& mine = *waiter_;
    mine.mask = wanted.states;
    mine.transition = wanted.change;
    mine.pure = wanted.pure;
    mine.context = this;
    mine.resume = &served;
    lock_ = &wanted.lock;
    phase_.store(phase::waiting, sys::relaxed);
    // First the stop, then the lock: once the waiter is in the lock's hands, the frame may go at any time. A
    // stop that comes in between looks for the waiter until it is there.
    stop_state* const stop = home_.env().stop;
    if (EKIDEN_MUTANT(async_wait_arms_last)) {
        const bool is_done = wanted.lock.start(mine);
        if (stop != nullptr) (void)arm(*stop);
        if (is_done) phase_.store(phase::served, sys::relaxed);
        return !is_done;
    }
    if (stop != nullptr && !arm(*stop)) {
        phase_.store(phase::cancelled, sys::relaxed);
        home_.resume();
        return true;
    }
    if (!wanted.lock.start(mine)) return true;
    // [AW2] release: stopped() need not look any longer, and what follows here is not before it.
    phase_.store(phase::served, sys::release);
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

// In the thread that requests the stop. The coroutine does not go on before this has returned: collect_late()
// disarms. So the frame is there, and the lock, since the wait has not returned.
void lock_wait::stopped(stop_node& node) noexcept {
    auto& self = static_cast<lock_wait&>(node);
    for (;;) {
        const withdrawal result = self.lock_->withdraw(*self.waiter_);
        if (result == withdrawal::taken_out
            || (result == withdrawal::served && EKIDEN_MUTANT(async_stop_takes_back_what_was_given))) {
            self.phase_.store(phase::cancelled, sys::relaxed);
            self.home_.resume();
            return;
        }
        if (result == withdrawal::served) return; // what was granted is delivered
        // Done without a wait? relaxed: [AW2] is all that it takes, for nothing is read after it.
        if (self.phase_.load(sys::relaxed) != phase::waiting) return;
        sys::yield(); // the coroutine is a few steps before the lock
    }
}

wait_result lock_wait::collect_late(phase ended) noexcept {
    if (!EKIDEN_MUTANT(async_wait_leaves_its_stop_armed)) (void)disarm();
    return ended == phase::cancelled ? why_stopped() : wait_result::done;
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
