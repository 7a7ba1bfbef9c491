#include <ekiden/async/async_lock.hpp>
#include <ekiden/async/detail/select_wait.hpp>
#include <ekiden/context/simulated.hpp>
#include <ekiden/sys/back_off.hpp>
#include <ekiden/sys/mutant.hpp>
#include <ekiden/sys/thread.hpp>

#include <stdexcept>

namespace ekiden::inline EKIDEN_ABI {

select_priority::select_priority(unsigned cap) : cap_(cap), left_(cap) {
    if (cap == 0) throw std::invalid_argument("select_priority: cap is 0, allowed is 1 or more");
}

unsigned select_priority::next(unsigned count) noexcept {
    if (count < 2 || left_-- > 0) return 0;
    left_ = cap_;
    return 1 + other_++ % (count - 1);
}

namespace detail {
namespace {

struct select_turn {
    std::uint32_t next;
};

} // namespace

std::uint32_t select_wait::rotated(std::uint32_t count) noexcept {
    if (simulated_thread* const here = simulation_here()) [[unlikely]]
        return here->choose_next(count);
    return sys::local<select_turn>().next++ % count;
}

bool select_wait::claim(std::uint32_t index) noexcept {
    return replace_unclaimed(index) || EKIDEN_MUTANT(select_takes_from_two);
}

bool select_wait::reserve() noexcept {
    return replace_unclaimed(reserved) || EKIDEN_MUTANT(select_takes_from_two_channels);
}

void select_wait::confirm(std::uint32_t index) noexcept {
    winner_.store(index, sys::release); // [SW3] Release: as in replace_unclaimed().
}

void select_wait::cancel() noexcept {
    // Relaxed is enough, because the transition has had no effect.
    winner_.store(unclaimed, sys::relaxed);
}

bool select_wait::replace_unclaimed(std::uint32_t by) noexcept {
    for (sys::back_off other;; other.wait()) { // repeats only while another thread has reserved the wait
        std::uint32_t expected = unclaimed;
        // [SW3] Release: pairs with the acquire in wait(). The release does not publish the item. The lock of
        // the branch and pending_ publish the item.
        if (winner_.compare_exchange_strong(expected, by, sys::release, sys::relaxed)) return true;
        if (expected != reserved || EKIDEN_MUTANT(select_trusts_a_reservation)) return false;
    }
}

bool select_wait::try_now(branches all, std::uint32_t first) noexcept {
    const auto count = static_cast<std::uint32_t>(all.size());
    std::uint32_t ended = 0;
    for (std::uint32_t i = 0; i < count; ++i) {
        select_branch& one = *all[(first + i) % count];
        const auto change = [&one](state_value now) noexcept { return one.change(&one, now); };
        const bool has_run =
            one.take_now != nullptr ? one.take_now(one) : run_soon(*one.lock, one.states, change);
        if (has_run && winner_.load(sys::relaxed) == one.index) return true;
        ended += one.has_ended;
    }
    if (ended < count) return false;
    winner_.store(all_ended, sys::relaxed);
    return true;
}

// pending_ also counts the sweep, so the coroutine is not posted before the sweep has ended.
bool select_wait::wait(branches all, std::uint32_t first) noexcept {
    const auto count = static_cast<std::uint32_t>(all.size());
    all_ = all;
    is_waiting_ = true;
    open_.store(count, sys::relaxed);
    pending_.store(count + 1, sys::relaxed);
    stop_state* const stop = home_.env().stop;
    if (stop != nullptr && !arm(*stop)) {
        is_waiting_ = false;
        winner_.store(by_stop, sys::relaxed);
        home_.resume();
        return true;
    }
    std::uint32_t settled = 0; // number of branches that have no waiter in a lock
    // [SW3] Acquire: pairs with the release in claim().
    const auto winner = [this] { return winner_.load(sys::acquire); };
    const auto is_claimed_by_any = [&winner] {
        const std::uint32_t now = winner();
        return now != unclaimed && now != reserved;
    };
    for (std::uint32_t i = 0; i < count; ++i) {
        select_branch& one = *all[(first + i) % count];
        if (!one.has_ended && !is_claimed_by_any()) {
            waiter& mine = *one.waiter;
            mine.mask = one.states;
            mine.transition = one.change;
            mine.context = &one;
            mine.resume = &served;
            one.is_waiting.write(true);
            if (!one.lock->start(mine)) continue; // `one` may have been served already
            one.is_waiting.write(false);
        }
        ++settled;
        const bool is_last = one.has_ended && open_.fetch_sub(1, sys::relaxed) == 1;
        const bool has_won = winner() == one.index || (is_last && claim(all_ended));
        if (has_won) (void)meet(is_claimed); // this thread has claimed the select
    }
    // The count of the sweep stays in pending_.
    if (settled > 0) (void)settle(settled);
    if (!meet(is_published)) return true;
    if (!settle(sweep())) return true;
    (void)disarm();
    is_waiting_ = false;
    return false;
}

// Called by the coroutine's thread and by the thread that has claimed the select. Returns true in the later
// of the two calls.
bool select_wait::meet(std::uint8_t one) noexcept {
    // [SW2] Acquire and release: the thread of the later call sees all waiters that the thread of the
    // coroutine has pushed.
    return (met_.fetch_or(one, sys::acq_rel) & ~one) != 0;
}

// Removes the waiters that are still in their locks. Returns the number of waiters that the caller must pass
// to settle().
std::uint32_t select_wait::sweep() noexcept {
    std::uint32_t settled = 1;
    for (select_branch* one : all_) {
        if (!one->is_waiting.read() || EKIDEN_MUTANT(select_leaves_losers)) continue;
        // A thread that has served a waiter calls settle() for this waiter.
        if (one->lock->withdraw(*one->waiter) == withdrawal::taken_out) ++settled;
    }
    return settled;
}

// Subtracts `count` from pending_. Returns true if no other thread uses the awaiter any more. The caller must
// then continue with the coroutine.
bool select_wait::settle(std::uint32_t count) noexcept {
    // [SW1] Acquire and release: the last thread sees what every other thread has done with its branch. For
    // example, it sees the item.
    return pending_.fetch_sub(count, sys::acq_rel) == count;
}

// Called by the thread that has claimed the select. `own` is the number of branches of this thread that are
// not settled yet.
void select_wait::decided(std::uint32_t own) noexcept {
    const std::uint32_t all = meet(is_claimed) ? own + sweep() : own;
    if (all > 0 && settle(all)) home_.resume();
}

// Called by the thread that has released the lock of a branch, after the release.
void select_wait::served(waiter& who) noexcept {
    const auto& one = *static_cast<const select_branch*>(who.context);
    select_wait& self = *one.owner;
    // Relaxed is enough, because this step needs only the count, and no other data.
    const bool is_last = one.has_ended && self.open_.fetch_sub(1, sys::relaxed) == 1;
    // Relaxed is enough, because only the transition of this waiter can claim for this branch, and this
    // thread has run that transition.
    if (self.winner_.load(sys::relaxed) == one.index || (is_last && self.claim(all_ended)))
        self.decided(1);
    else if (self.settle(1))
        self.home_.resume();
}

// Called by the thread that requests the stop. The coroutine frame exists, because collect() waits for the
// end of this call.
void select_wait::stopped(stop_node& node) noexcept {
    auto& self = static_cast<select_wait&>(node);
    if (self.claim(by_stop)) self.decided(0);
}

// Called if the frame is destroyed while the coroutine waits.
void select_wait::leave_queues() noexcept {
    (void)disarm();
    std::uint32_t left = pending_.load(sys::relaxed);
    do {
        if (left == 0) return; // the coroutine has been posted
    } while (!pending_.compare_exchange_weak(left, left + 1, sys::relaxed, sys::relaxed));
    if (claim(by_end) && meet(is_claimed)) (void)settle(sweep());
    // [SW1] Acquire: the last accesses of all other threads happen before this step.
    while (pending_.load(sys::acquire) != 1) sys::yield();
}

} // namespace detail
} // namespace ekiden::inline EKIDEN_ABI
