#include <ekiden/timer/detail/timer_queue.hpp>

#include <ekiden/context/simulated.hpp>
#include <ekiden/timer/detail/timer_driver.hpp>
#include <ekiden/timer/detail/timer_state.hpp>

#include <algorithm>
#include <limits>
#include <mutex>

namespace ekiden::inline EKIDEN_ABI {
namespace {

constexpr std::int64_t never_ns = std::numeric_limits<std::int64_t>::max();

timer_state& state_of(timer_wheel::node& one) noexcept { return static_cast<timer_state&>(one); }

} // namespace

timer_queue::timer_queue(timer_driver& driver, timer_clock clock) noexcept
    : driver_(driver), clock_(clock), next_ns_(never_ns), wheel_(clock.now()) {}

timer_queue::arming timer_queue::arm(timer_state& idle, std::uint64_t deadline) noexcept {
    const std::lock_guard guard(lock_);
    if (is_closed_) return arming::closed;
    arming result = arming::done;
    const bool has_passed = deadline <= wheel_.now();
    if (has_passed || deadline < planned_) {
        // Only this branch may have to notify the driver, so only this branch reads the clock. A context that
        // fires its timers itself checks the timers soon anyway. In any other context, a wait that is already
        // due is posted at once, so the driver's thread need not wake for it.
        const bool posts_at_once = !driver_.is_rung_by_context();
        std::uint64_t now = wheel_.now();
        if (!clock_.is_own || (posts_at_once && !has_passed)) now = look_at_clock();
        if (posts_at_once && deadline <= now) return arming::due;
        if (deadline < planned_) {
            plan(now, deadline);
            result = arming::earlier;
        }
    }
    wheel_.schedule(idle, deadline);
    return result;
}

bool timer_queue::disarm(timer_state& armed) noexcept {
    const std::lock_guard guard(lock_);
    if (!armed.is_scheduled()) return false;
    wheel_.cancel(armed);
    return true; // planned_ stays unchanged, which causes at most one unneeded check
}

void timer_queue::ring(const bool* is_gone) noexcept {
    batch here;
    bool is_ringing_here = false;
    do {
        take_due(here, is_ringing_here);
        while (here.next != here.count) here.due[here.next++]->fire();
        if (is_gone != nullptr && *is_gone) return; // this queue has been destroyed with the context
    } while (is_ringing_here);
}

void timer_queue::close() noexcept {
    // This thread may be inside a function that posts waits or fires timers, because a destroyed handler may
    // end the context. So close() also abandons the waits that this thread was about to post, and the timers
    // that this thread was about to fire.
    timer_state::abandon_what_is_posted_here(*this);
    // If another thread fires timers, this thread must not access that thread's batch.
    if (driver_.rings_in_this_thread() && ringing_ != nullptr) {
        while (ringing_->next != ringing_->count) ringing_->due[ringing_->next++]->abandon();
    }
    for (;;) {
        timer_wheel::node* one = nullptr;
        {
            const std::lock_guard guard(lock_);
            is_closed_ = true;
            one = wheel_.take_any();
        }
        if (one == nullptr) return;
        state_of(*one).abandon();
    }
}

/// Takes due timers out of the wheel. Only one thread at a time fires timers, so that the timers fire in the
/// order of their deadlines.
void timer_queue::take_due(batch& here, bool& is_ringing_here) noexcept {
    here.next = here.count = 0;
    const std::lock_guard guard(lock_);
    // If another thread fires timers, that thread reads the clock again later. So that thread also fires the
    // timers that are due now.
    if (ringing_ != nullptr && !is_ringing_here) return;
    const std::uint64_t now = look_at_clock();
    while (here.count != here.due.size()) {
        timer_wheel::node* const one = wheel_.pop(now);
        if (one == nullptr) break;
        here.due[here.count++] = &state_of(*one);
    }
    plan(now, wheel_.next());
    is_ringing_here = here.count != 0 || wheel_.is_busy();
    ringing_ = is_ringing_here ? &here : nullptr;
}

std::uint64_t timer_queue::look_at_clock() noexcept {
    const std::uint64_t now = clock_.now();
    if (now < wheel_.now() && !clock_.is_own) wheel_.restart(now); // the clock was set back
    return std::max(now, wheel_.now());
}

/// Sets the next alarm. No timer in the wheel is due before `next`.
void timer_queue::plan(std::uint64_t now, std::uint64_t next) noexcept {
    planned_ = next;
    std::int64_t at = never_ns;
    if (next != timer_wheel::never) {
        if (clock_.is_own) {
            at = timer_clock::signed_ns(next);
        } else { // an estimate; the clock is read again soon
            constexpr auto longest = static_cast<std::uint64_t>(timer_clock::longest_trust);
            const bool is_virtual = clock_.is_simulated && simulation_here() != nullptr;
            const std::uint64_t left = next > now ? next - now : 0;
            at = static_cast<std::int64_t>(now_here_ns() + (is_virtual ? left : std::min(left, longest)));
        }
    }
    next_ns_.store(at, sys::relaxed);
}

} // namespace ekiden::inline EKIDEN_ABI
