#include <ekiden/timer/detail/timer_queue.hpp>

#include <ekiden/context/simulated.hpp>
#include <ekiden/sys/mutant.hpp>
#include <ekiden/sys/thread_number.hpp>
#include <ekiden/sys/topology.hpp>
#include <ekiden/timer/detail/timer_driver.hpp>
#include <ekiden/timer/detail/timer_state.hpp>

#include <algorithm>
#include <bit>
#include <limits>
#include <mutex>

namespace ekiden::inline EKIDEN_ABI {
namespace {

constexpr std::int64_t never_ns = std::numeric_limits<std::int64_t>::max();

timer_state& state_of(timer_wheel::node& one) noexcept { return static_cast<timer_state&>(one); }

} // namespace

class timer_queue::all_locks {
public:
    explicit all_locks(timer_queue& locked) noexcept : locked_(locked) {
        // While this thread has the lock of part 0, no part is made.
        locked_.parts_[0]->lock.lock();
        locked_.visit_parts([this](unsigned number) {
            if (number != 0) locked_.parts_[number]->lock.lock();
        });
    }
    ~all_locks() {
        locked_.visit_parts([this](unsigned number) {
            if (number != 0) locked_.parts_[number]->lock.unlock();
        });
        locked_.parts_[0]->lock.unlock();
    }
    all_locks(const all_locks&) = delete;
    all_locks& operator=(const all_locks&) = delete;

private:
    timer_queue& locked_;
};

/// A context that fires its timers itself usually has few threads. A clock that may be set back has only one
/// wheel, because its alarm is an estimate.
unsigned timer_queue::count_parts() const {
    if (driver_.is_rung_by_context() || !clock_.is_own) return 1;
    return std::min(most_parts, sys::usable_concurrency());
}

timer_queue::timer_queue(timer_driver& driver, timer_clock clock, std::uint16_t generation)
    : driver_(driver), clock_(clock), generation_(generation), part_count_(count_parts()),
      next_ns_(never_ns) {
    parts_[0] = std::make_unique<part>(clock.now());
}

timer_queue::arming timer_queue::arm(timer_state& idle, std::uint64_t deadline) noexcept {
    const unsigned number = part_of_this_thread();
    part& here = *parts_[number];
    const std::lock_guard guard(here.lock);
    if (is_closed_) return arming::closed;
    arming result = arming::done;
    const bool has_passed = deadline <= here.wheel.now();
    // [TM4] Relaxed is enough. The lock makes the last value visible that a thread with all locks has
    // written. Since then the value has only decreased, and plan_earlier() compares it again.
    if (has_passed || deadline < planned_.load(sys::relaxed)) {
        // Only this branch may have to notify the driver, so only this branch reads the clock. A context that
        // fires its timers itself checks the timers soon anyway. In any other context, a wait that is already
        // due is posted at once, so the driver's thread need not wake for it.
        const bool posts_at_once = !driver_.is_rung_by_context();
        std::uint64_t now = here.wheel.now();
        if (!clock_.is_own || (posts_at_once && !has_passed)) now = look_at_clock(here.wheel);
        if (posts_at_once && deadline <= now) return arming::due;
        if (plan_earlier(now, deadline)) result = arming::earlier;
    }
    here.wheel.schedule(idle, deadline);
    idle.wait_in(number);
    return result;
}

bool timer_queue::disarm(timer_state& armed) noexcept {
    part& there = *parts_[armed.waits_in()];
    const std::lock_guard guard(there.lock);
    if (!armed.is_scheduled()) return false;
    there.wheel.cancel(armed);
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
    if (ringing_ != nullptr) {
        while (ringing_->next != ringing_->count) ringing_->due[ringing_->next++]->abandon();
    }
    for (;;) {
        timer_wheel::node* one = nullptr;
        {
            const all_locks guard(*this);
            is_closed_ = true;
            visit_parts([&](unsigned number) {
                if (one == nullptr) one = parts_[number]->wheel.take_any();
            });
        }
        if (one == nullptr) return;
        state_of(*one).abandon();
    }
}

// ---- the parts

/// Returns the number of the part in which the calling thread sets its timers. The part exists.
unsigned timer_queue::part_of_this_thread() noexcept {
    if (part_count_ == 1) return 0;
    const unsigned number = sys::thread_number<timer_queue>() % part_count_;
    // [TM6] Acquire: makes the part visible. Pairs with the release in make_part().
    const bool exists = (made_.load(sys::acquire) >> number & 1) != 0;
    return exists ? number : make_part(number);
}

/// Makes a part. Returns the number of a part that exists, which is 0 if there is no memory.
unsigned timer_queue::make_part(unsigned number) noexcept {
    // [TM4] A thread that has all locks has this one, too. So no part is made while such a thread fires
    // timers and sets the alarm. A thread that sets a timer in the new part sees this alarm.
    std::unique_lock guard(parts_[0]->lock, std::defer_lock);
    if (!EKIDEN_MUTANT(timer_part_made_beside_the_driver)) guard.lock();
    if (parts_[number] != nullptr) return number;
    try {
        parts_[number] = std::make_unique<part>(parts_[0]->wheel.now());
    } catch (...) { // no memory
        return 0;
    }
    made_.fetch_or(1U << number, sys::release); // [TM6] Release: publishes the part
    return number;
}

template <class Visit>
void timer_queue::visit_parts(Visit visit) noexcept {
    for (std::uint32_t left = made_.load(sys::relaxed); left != 0; left &= left - 1)
        visit(static_cast<unsigned>(std::countr_zero(left)));
}

// ---- the alarm

/// Takes due timers out of the wheels, in the order of their deadlines. Only one thread at a time fires
/// timers, so that the timers fire in this order.
void timer_queue::take_due(batch& here, bool& is_ringing_here) noexcept {
    here.next = here.count = 0;
    const all_locks guard(*this);
    // If another thread fires timers, that thread reads the clock again later. So that thread also fires the
    // timers that are due now.
    if (ringing_ != nullptr && !is_ringing_here) return;
    std::uint64_t now = look_at_clock(parts_[0]->wheel);
    std::array<std::uint64_t, most_parts> next; // the next deadline of each part, or an earlier time
    next.fill(timer_wheel::never);
    visit_parts([&](unsigned number) {
        next[number] = parts_[number]->wheel.next();
        now = std::max(now, parts_[number]->wheel.now());
    });
    bool is_busy = false;
    auto first = std::min_element(next.begin(), next.end());
    do {
        // From the part with the earliest deadline, takes what is due before the deadlines of other parts.
        timer_wheel& wheel = parts_[static_cast<unsigned>(first - next.begin())]->wheel;
        *first = now;
        const std::uint64_t until = *std::min_element(next.begin(), next.end());
        while (here.count != here.due.size()) {
            timer_wheel::node* const one = wheel.pop(until);
            if (one == nullptr) break;
            here.due[here.count++] = &state_of(*one);
        }
        is_busy = wheel.is_busy();
        *first = wheel.next();
        first = std::min_element(next.begin(), next.end());
    } while (here.count != here.due.size() && !is_busy && *first <= now);
    plan(now, *first);
    is_ringing_here = here.count != 0 || is_busy;
    ringing_ = is_ringing_here ? &here : nullptr;
}

std::uint64_t timer_queue::look_at_clock(timer_wheel& wheel) noexcept {
    const std::uint64_t now = clock_.now();
    if (now < wheel.now() && !clock_.is_own) wheel.restart(now); // the clock was set back
    return std::max(now, wheel.now());
}

/// Sets the next alarm to `deadline`, unless an earlier alarm is set. Returns whether the alarm has changed.
/// The caller has the lock of one part. Other threads may have the locks of other parts.
bool timer_queue::plan_earlier(std::uint64_t now, std::uint64_t deadline) noexcept {
    std::uint64_t planned = planned_.load(sys::relaxed);
    do {
        if (deadline >= planned) return false;
    } while (!planned_.compare_exchange_weak(planned, deadline, sys::relaxed, sys::relaxed)
             && !EKIDEN_MUTANT(timer_alarm_yields_to_another));
    estimate(now, deadline);
    return true;
}

/// Sets the next alarm. No timer is due before `next`. The caller has all locks.
void timer_queue::plan(std::uint64_t now, std::uint64_t next) noexcept {
    planned_.store(next, sys::relaxed);
    estimate(now, next);
}

/// Converts the alarm to a time of the library's clock. A queue with another clock has only one part.
void timer_queue::estimate(std::uint64_t now, std::uint64_t next) noexcept {
    if (clock_.is_own) return;
    std::int64_t at = never_ns;
    if (next != timer_wheel::never) { // an estimate; the clock is read again soon
        constexpr auto longest = static_cast<std::uint64_t>(timer_clock::longest_trust);
        const bool is_virtual = clock_.is_simulated && simulation_here() != nullptr;
        const std::uint64_t left = next > now ? next - now : 0;
        at = static_cast<std::int64_t>(now_here_ns() + (is_virtual ? left : std::min(left, longest)));
    }
    next_ns_.store(at, sys::relaxed);
}

} // namespace ekiden::inline EKIDEN_ABI
