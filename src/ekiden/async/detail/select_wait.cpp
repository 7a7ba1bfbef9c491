#include <ekiden/async/async_lock.hpp>
#include <ekiden/async/detail/select_wait.hpp>
#include <ekiden/context/simulated.hpp>
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
    std::uint32_t expected = nobody;
    // [SW3] release; pairs with wait(). The item is carried by the lock of the branch and by pending_.
    return winner_.compare_exchange_strong(expected, index, sys::release, sys::relaxed)
           || EKIDEN_MUTANT(select_takes_from_two);
}

bool select_wait::try_now(branches all, std::uint32_t first) noexcept {
    const auto count = static_cast<std::uint32_t>(all.size());
    std::uint32_t ended = 0;
    for (std::uint32_t i = 0; i < count; ++i) {
        select_branch& one = *all[(first + i) % count];
        const auto change = [&one](state_value now) noexcept { return one.change(&one, now); };
        if (run_soon(*one.lock, one.states, change) && winner_.load(sys::relaxed) == one.index) return true;
        ended += one.has_ended;
    }
    if (ended < count) return false;
    winner_.store(all_ended, sys::relaxed);
    return true;
}

// Until the two have met, the sweep's one in pending_ keeps the coroutine where it is.
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
    std::uint32_t settled = 0; // those whose waiters no lock has
    // [SW3] acquire; pairs with claim().
    const auto winner = [this] { return winner_.load(sys::acquire); };
    for (std::uint32_t i = 0; i < count; ++i) {
        select_branch& one = *all[(first + i) % count];
        if (!one.has_ended && winner() == nobody) {
            waiter& mine = *one.waiter;
            mine.mask = one.states;
            mine.transition = one.change;
            mine.context = &one;
            mine.resume = &served;
            one.is_waiting.write(true);
            if (!one.lock->start(mine)) continue; // and `one` may be served already
            one.is_waiting.write(false);
        }
        ++settled;
        const bool is_last = one.has_ended && open_.fetch_sub(1, sys::relaxed) == 1;
        const bool has_won = winner() == one.index || (is_last && claim(all_ended));
        if (has_won) (void)meet(is_claimed); // the other one is this thread
    }
    // The others let go of their part in pending_; the sweep's part is still there.
    if (settled > 0) (void)settle(settled);
    if (!meet(is_published)) return true;
    if (!settle(sweep())) return true;
    (void)disarm();
    is_waiting_ = false;
    return false;
}

// True for the second of the two.
bool select_wait::meet(std::uint8_t one) noexcept {
    // [SW2] acq_rel: the second one sees the waiters that the coroutine has put into their locks.
    return (met_.fetch_or(one, sys::acq_rel) & ~one) != 0;
}

// Takes out the waiters that are still in their locks. Returns what the sweeper has to settle.
std::uint32_t select_wait::sweep() noexcept {
    std::uint32_t settled = 1;
    for (select_branch* one : all_) {
        if (!one->is_waiting.read() || EKIDEN_MUTANT(select_leaves_losers)) continue;
        // One that has been served settles itself.
        if (one->lock->withdraw(*one->waiter) == withdrawal::taken_out) ++settled;
    }
    return settled;
}

// True: nobody else has anything to do with the coroutine; the caller sees to it that it goes on.
bool select_wait::settle(std::uint32_t count) noexcept {
    // [SW1] acq_rel: what each has done with its branch, the item among it, is seen by the last one.
    return pending_.fetch_sub(count, sys::acq_rel) == count;
}

// Claimed. `own` is what this thread has to settle anyway.
void select_wait::decided(std::uint32_t own) noexcept {
    const std::uint32_t all = meet(is_claimed) ? own + sweep() : own;
    if (all > 0 && settle(all)) home_.resume();
}

// In the thread that has left the lock of a branch.
void select_wait::served(waiter& who) noexcept {
    const auto& one = *static_cast<const select_branch*>(who.context);
    select_wait& self = *one.owner;
    // relaxed: a count, and nothing else.
    const bool is_last = one.has_ended && self.open_.fetch_sub(1, sys::relaxed) == 1;
    // relaxed: only this waiter's transition claims for its branch, and it has been run, by this thread.
    if (self.winner_.load(sys::relaxed) == one.index || (is_last && self.claim(all_ended)))
        self.decided(1);
    else if (self.settle(1))
        self.home_.resume();
}

// In the thread that requests the stop. Its end is waited for by collect(). So the frame is there.
void select_wait::stopped(stop_node& node) noexcept {
    auto& self = static_cast<select_wait&>(node);
    if (self.claim(by_stop)) self.decided(0);
}

// The frame ends while it waits.
void select_wait::leave_queues() noexcept {
    (void)disarm();
    std::uint32_t left = pending_.load(sys::relaxed);
    do {
        if (left == 0) return; // on its way home
    } while (!pending_.compare_exchange_weak(left, left + 1, sys::relaxed, sys::relaxed));
    if (claim(by_end) && meet(is_claimed)) (void)settle(sweep());
    // [SW1] acquire: the last touches of the others.
    while (pending_.load(sys::acquire) != 1) sys::yield();
}

} // namespace detail
} // namespace ekiden::inline EKIDEN_ABI
