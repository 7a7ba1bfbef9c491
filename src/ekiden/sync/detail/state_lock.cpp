// This file has the slow paths of state_lock: waits, exits while other threads wait, and cancellation.
// Protocol: sync/detail/state_lock.md.
#include <ekiden/context/thread_context.hpp>
#include <ekiden/observe/trace.hpp>
#include <ekiden/sync/detail/group_word.hpp>
#include <ekiden/sync/detail/resume_in_turn.hpp>
#include <ekiden/sync/detail/state_lock.hpp>
#include <ekiden/sys/back_off.hpp>
#include <ekiden/sys/clock.hpp>
#include <ekiden/sys/contract.hpp>
#include <ekiden/sys/futex.hpp>
#include <ekiden/sys/mutant.hpp>
#include <ekiden/sys/thread.hpp>

#include <algorithm>
#include <optional>

namespace ekiden::inline EKIDEN_ABI {
namespace {

/// A releaser runs at most this many transitions of waiters. Then it wakes a waiter, which runs the rest.
constexpr unsigned most_served = 1000;

waiter* to_waiter(std::uint64_t address) noexcept {
    return reinterpret_cast<waiter*>(static_cast<std::uintptr_t>(address));
}

/// Sets the outcome of a thread's wait and wakes the thread. The thread may destroy the waiter as soon as the
/// outcome is set.
void tell(waiter& who, std::uint32_t outcome) noexcept {
    sys::atomic<std::uint32_t>& status = who.status;
    // [SL3] Release: publishes the outcome. Pairs with the acquires in sleep(). The step is a
    // read-modify-write, so that it continues the release sequence of the mark that the stop callback sets
    // [SL4].
    const std::uint32_t before = status.exchange(outcome, sys::release);
    if ((before & waiter::phase) == waiter::parked && !EKIDEN_MUTANT(state_lock_forgets_to_wake))
        sys::futex_wake(status);
}

void describe(waiter& who, state_lock::mask states, state_transition change, void* context) noexcept {
    who.mask = states;
    who.transition = change;
    who.context = context;
}

} // namespace

constinit const state_rules state_lock::overtaking{};
constinit const state_rules state_lock::strict{.hand_over_after = std::chrono::nanoseconds(0)};
// This object is not constinit, because std::stop_token is not a literal type in every standard library.
// Before the object is constructed, all its bytes are 0. An object whose bytes are 0 is also a limit that is
// never reached. So locks work while static objects are constructed.
const wait_limit state_lock::never_{};

state_lock::~state_lock() {
    if ((word_.load(sys::relaxed) & (newest | queued)) != 0)
        sys::contract_broken("state_lock: destroyed while a thread or a coroutine waits for it");
}

// ---- waiting -----------------------------------------------------

/// Wakes the thread of a waiter when a stop is requested.
class state_lock::interrupter {
public:
    interrupter(waiter& who, const std::stop_token& stop) {
        if (stop.stop_possible()) callback_.emplace(stop, interrupt{who});
    }

private:
    struct interrupt {
        waiter& who;

        void operator()() const noexcept {
            // [SL4] Release: publishes the stop request. Pairs with the acquire of the status in sleep().
            const std::uint32_t before = who.status.fetch_or(waiter::interrupted, sys::release);
            if ((before & waiter::phase) == waiter::parked) sys::futex_wake(who.status);
        }
    };

    std::optional<std::stop_callback<interrupt>> callback_;
};

state_lock::numbered_result state_lock::enter_slow(mask states, const wait_limit& limit,
                                                   bool numbered) noexcept {
    alignas(waiter_alignment) waiter me;
    me.mask = states;
    me.numbered = numbered;
    const bool granted = wait(me, limit);
    return {granted, me.number};
}

bool state_lock::transition_slow(mask states, state_transition change, void* context, bool pure, conduct how,
                                 const wait_limit& limit) noexcept {
    alignas(waiter_alignment) waiter me;
    describe(me, states, change, context);
    me.pure = pure;
    me.direct = how != conduct::opens;
    me.in_order = how != conduct::continues || EKIDEN_MUTANT(rw_upgrade_waits_in_order);
    if (how == conduct::completes && EKIDEN_MUTANT(rw_run_overtakes)) me.in_order = false;
    me.group = how == conduct::completes_together && limit.is_endless();
    return wait(me, limit);
}

bool state_lock::wait(waiter& me, const wait_limit& limit) noexcept {
    const interrupter stop(me, limit.stop());
    if (rules_->hand_over_after.count() == 0) me.direct = true;
    std::uint64_t since = 0;
    const unsigned rounds = unsigned{rules_->spins} + rules_->yields;
    unsigned looks = 0;
    bool woken = false;                 // this thread has been woken to try again, and `waking` is set
    bool late = false;                  // the limit was reached, but a releaser had chosen this waiter before
    std::optional<blocked_here> asleep; // gets its value before the first sleep
    std::uint64_t word = word_.load(sys::relaxed);
    for (;;) {
        if ((word & locked) == 0 && in(me.mask, word)) {
            const taken result = take(me, word, woken);
            if (result == taken::done) return true;
            if (result == taken::failed) continue;
            poll(me);
            if (!asleep) asleep.emplace(rules_->name);
        } else {
            if (late || (!limit.is_endless() && limit.is_reached())) {
                if (woken && !EKIDEN_MUTANT(state_lock_swallows_a_wake_up)) pass_on();
                return false;
            }
            if (looks < rounds && (!rules_->first_only || (word & (newest | queued)) == 0)) {
                if (looks++ < rules_->spins)
                    sys::spin_hint();
                else if (!sys::yield_briefly())
                    looks = rounds;
                word = word_.load(sys::relaxed);
                continue;
            }
            // Reports the wait before the push, because a lock must not be handed to a thread that is still
            // reporting.
            if (!asleep) asleep.emplace(rules_->name);
            if (!me.direct) {
                const std::uint64_t now = sys::now_ns();
                if (since == 0) since = now;
                me.direct = now - since > static_cast<std::uint64_t>(rules_->hand_over_after.count());
            }
            const bool decides = woken && (word & locked) == 0;
            if (!(decides ? requeue(me, word) : push(me, word, woken))) continue;
        }
        wake how = sleep(me, limit);
        if (how == wake::gave_up) {
            if (cancel(me)) return false;
            // A releaser has chosen this waiter already, and is about to set the status of the waiter.
            how = sleep(me, never_);
            late = true;
        }
        if (how == wake::granted) return true;
        woken = true;
        looks = 0;
        // [SL4] Relaxed is enough, because only this thread reads the new status. The mark of a stop request
        // stays set for the next sleep.
        me.status.fetch_and(waiter::interrupted, sys::relaxed);
        word = word_.load(sys::relaxed);
    }
}

// Tries the operation once. In the word that the caller has read, `locked` was clear, and the state admitted
// `me`. If the atomic step fails, the function sets `word` to the new word.
state_lock::taken state_lock::take(waiter& me, std::uint64_t& word, bool woken) noexcept {
    const std::uint64_t seen = woken ? word & ~waking : word;
    if (me.transition == nullptr) {
        me.number = value_of(word).payload;
        const std::uint64_t next = me.numbered ? count_arrival(seen | locked) : seen | locked;
        // [SL1] Acquire. Pairs with the release in exit().
        return done_if(word_.compare_exchange_weak(word, next, sys::acquire, sys::relaxed));
    }
    if (me.pure && !woken) {
        // [SL1] Acquire, because the transition may read data that an earlier holder has written. Pairs with
        // the release in exit().
        const std::uint64_t now = word_.load(sys::acquire);
        if (now != word) {
            word = now;
            return taken::failed;
        }
        const std::uint64_t next = with(word, me.transition(me.context, value_of(word)));
        if (((word ^ next) & state_bits) == 0 || !must_serve(word)) {
            // [SL1] Acquire and release, because this step both enters and leaves the lock.
            return done_if(word_.compare_exchange_weak(word, next, sys::acq_rel, sys::relaxed));
        }
    }
    // [SL1] Acquire. Pairs with the release in exit().
    if (!word_.compare_exchange_weak(word, seen | locked, sys::acquire, sys::relaxed)) return taken::failed;
    const state_value next = me.transition(me.context, value_of(word));
    if ((next.state & state_value::refused) != 0) [[unlikely]]
        return join(me, next);
    exit(next);
    return taken::done;
}

// Adds `me`, whose transition has refused and returned `next`, to the list. Then serves the waiters and
// leaves the lock. The caller must be inside the lock. Returns `done` if the operation of `me` was completed.
state_lock::taken state_lock::join(waiter& me, state_value next) noexcept {
    const std::uint64_t word = take_list();
    list_.insert(me);
    next.state &= ~state_value::refused;
    return serve_and_leave(next, word, &me) ? taken::done : taken::queued;
}

// Yields until another thread has served `me`, or until the yields that the rules allow are used up.
void state_lock::poll(const waiter& me) const noexcept {
    for (unsigned i = 0; i != rules_->yields; ++i) {
        // Relaxed is enough, because sleep() reads the status again.
        if (me.status.load(sys::relaxed) != waiter::waiting || !sys::yield_briefly()) return;
    }
}

bool state_lock::try_transition(mask states, state_transition change, void* context) noexcept {
    alignas(waiter_alignment) waiter me;
    describe(me, states, change, context);
    me.direct = true;
    for (sys::back_off others;; others.wait()) { // repeats only while another thread is inside
        std::uint64_t word = word_.load(sys::relaxed);
        if ((word & locked) != 0) continue;
        if (!in(states, word)) return false;
        const taken result = take(me, word, false);
        if (result == taken::done) return true;
        if (result == taken::failed) continue;
        if (cancel(me)) return false;
        if (sleep(me, never_) == wake::granted) return true; // a releaser had chosen this waiter already
        pass_on();
        return false;
    }
}

// Pushes `me` in front of the newest waiter. The lock is closed to `me`, and the step of the push checks that
// the lock is still closed.
bool state_lock::push(waiter& me, std::uint64_t& word, bool woken) noexcept {
    const std::uint64_t address = reinterpret_cast<std::uintptr_t>(&me);
    if (address >> waiter_address_bits != 0)
        sys::contract_broken("state_lock: a waiter lies beyond the known addresses");
    me.next = to_waiter((word & newest) >> newest_shift << alignment_bits);
    std::uint64_t next = (word & ~newest) | address >> alignment_bits << newest_shift;
    if (woken && !EKIDEN_MUTANT(state_lock_wakes_for_ever))
        next &= ~waking; // the thread that is inside will serve the queue when it leaves
    if (me.numbered) {
        me.number = value_of(word).payload;
        next = count_arrival(next);
    }
    if ((word & locked) == 0 && rules_->close != nullptr) {
        const std::uint64_t state = rules_->close(value_of(word), me.mask);
        next = (next & ~state_bits) | state << state_shift;
    }
    // [SL2] Release: publishes the waiter. Pairs with the acquire in take_list().
    return word_.compare_exchange_weak(word, next, sys::release, sys::relaxed);
}

// Returns `me` to its old place in the queue, and serves the other waiters. A woken waiter calls this if no
// thread is inside and the state does not admit the waiter. The waiter must serve, because no other thread
// was woken meanwhile.
bool state_lock::requeue(waiter& me, std::uint64_t& word) noexcept {
    // Relaxed is enough, because take_list() acquires.
    if (!word_.compare_exchange_weak(word, (word & ~waking) | locked, sys::relaxed, sys::relaxed))
        return false;
    const state_value value = value_of(word);
    const std::uint64_t now = take_list();
    list_.insert(me);
    serve_and_leave(value, now);
    return true;
}

// A woken waiter that gives up calls this function to pass its wake-up on to the other waiters.
void state_lock::pass_on() noexcept {
    std::uint64_t word = word_.load(sys::relaxed);
    for (;;) {
        if ((word & locked) != 0) {
            // The thread inside will find `waking` clear, and will serve the queue. Relaxed is enough,
            // because the step publishes nothing.
            if (word_.compare_exchange_weak(word, word & ~waking, sys::relaxed, sys::relaxed)) return;
            // Relaxed is enough, because take_list() acquires.
        } else if (word_.compare_exchange_weak(word, (word & ~waking) | locked, sys::relaxed, sys::relaxed)) {
            exit_slow(value_of(word));
            return;
        }
    }
}

state_lock::wake state_lock::sleep(waiter& me, const wait_limit& limit) noexcept {
    const trace::detail::interval waiting(trace::kind::lock_wait,
                                          trace::is_on() ? trace::detail::kept(rules_->name) : "",
                                          trace::detail::id_of(this));
    sys::atomic<std::uint32_t>& group = group_word(this);
    bool has_slept = false; // on the word of the group
    for (;;) {
        // [SL5] Acquire. Pairs with the release in grant(), which increments the generation after it has set
        // the statuses. A thread that reads the new generation sees its own status. A thread that reads the
        // old generation either does not fall asleep, or is woken.
        const std::uint32_t generation = me.group ? group.load(sys::acquire) : 0;
        // [SL3] Acquire: reads the outcome. Pairs with the release in tell() and grant().
        std::uint32_t status = me.status.load(sys::acquire);
        if ((status & waiter::phase) == waiter::granted) {
            // Only a thread of the group helps. If a thread that another lock has woken helped, too, it would
            // wake threads that sleep again already.
            if (has_slept) help_to_wake(group);
            return wake::granted;
        }
        if ((status & waiter::phase) == waiter::retry) return wake::retry;
        if ((status & waiter::interrupted) != 0 && !limit.is_endless()) return wake::gave_up;
        if (me.group) {
            sys::futex_wait(group, generation);
            has_slept = true;
            continue;
        }
        if ((status & waiter::phase) == waiter::waiting) {
            const std::uint32_t asleep = status | waiter::parked;
            // Relaxed is enough, because the step publishes nothing. If the step fails, the thread reads the
            // status again.
            if (!me.status.compare_exchange_strong(status, asleep, sys::relaxed, sys::relaxed)) continue;
            status = asleep;
        }
        if (!limit.is_timed())
            sys::futex_wait(me.status, status);
        else if (!sys::futex_wait_until(me.status, status, limit.deadline()) && limit.is_reached())
            return wake::gave_up;
    }
}

// ---- leaving with a queue ----------------------------------------

/// The waiters that a releaser has chosen to serve.
struct state_lock::choice {
    state_value value; ///< the value of the lock, after the transitions that the releaser has run
    /// The waiters whose transitions the releaser has run. They are linked by `next`, in this order.
    wait_link* completed = nullptr;
    wait_link** end = &completed;
    waiter* owner = nullptr;       ///< this waiter gets the lock by hand-over
    waiter* overtakable = nullptr; ///< this waiter is woken and tries again
    unsigned served = 0;
};

void state_lock::exit_slow(state_value next) noexcept { (void)serve_and_leave(next, take_list()); }

// Sets `listing`, and moves the new waiters into the list. Only the thread that has set `listing` may change
// the list. If `lock_too` is not null, the function also enters the lock if no thread is inside. *lock_too
// then tells whether the function has entered. Returns the new word.
std::uint64_t state_lock::take_list(bool* lock_too) noexcept {
    std::uint64_t word = word_.load(sys::relaxed);
    sys::back_off canceler;
    for (;;) {
        if ((word & listing) != 0) { // a thread that cancels a wait holds the list for a few steps
            canceler.wait();
            word = word_.load(sys::relaxed);
            continue;
        }
        const std::uint64_t found = (word & newest) != 0 ? queued : 0;
        const std::uint64_t next = (word & ~newest) | listing | found | (lock_too != nullptr ? locked : 0);
        // [SL2] Acquire: reads the waiters and the list. Pairs with the release in push() and in the steps
        // that clear `listing`.
        if (!word_.compare_exchange_weak(word, next, sys::acquire, sys::relaxed)) continue;
        if (lock_too != nullptr) *lock_too = (word & locked) == 0;
        gather(word);
        return next;
    }
}

// Moves the new waiters in `word` into list_. The new waiters are linked from the newest to the oldest.
void state_lock::gather(std::uint64_t word) noexcept {
    if ((word & newest) == 0) return;
    wait_link* newer = nullptr;
    wait_link* link = to_waiter((word & newest) >> newest_shift << alignment_bits);
    while (link != nullptr) {
        wait_link* older = link->next;
        link->next = newer;
        newer = link;
        link = older;
    }
    while (newer != nullptr) {
        wait_link* following = newer->next;
        list_.insert(*newer);
        newer = following;
    }
    if (rules_->settle != nullptr) return; // the note is then the mask of the woken waiter
    const std::uint32_t length = std::min(list_.size(), wait_list::max_note);
    if (length > list_.note()) list_.set_note(length);
}

// Settles the state, serves the waiters that the state admits, and then leaves the lock in one step. If new
// waiters arrive meanwhile, the function serves again. The caller must have set `locked` and `listing`.
// `word` is the result of take_list(). If `arriving` is not null, it is the waiter of the calling thread or
// coroutine. Returns whether the function has completed the operation of this waiter.
bool state_lock::serve_and_leave(state_value next, std::uint64_t word, const waiter* arriving) noexcept {
    choice chosen{.value = next};
    for (;;) {
        const bool was_waking = (word & waking) != 0;
        choose(chosen, was_waking);
        const bool now_waking = was_waking || chosen.overtakable != nullptr;
        if (rules_->counts_arrivals) chosen.value.payload = value_of(word).payload;
        const std::uint64_t left = pack(chosen.value) | (!list_.empty() || now_waking ? queued : 0)
                                   | (chosen.owner != nullptr ? locked : 0) | (now_waking ? waking : 0);
        // Only new waiters and the woken waiter can change the word meanwhile.
        std::uint64_t expected = word;
        // [SL1] [SL2] Release: publishes the work inside the lock, and the list. Pairs with the acquires of
        // enter() and apply(), and with the next take_list().
        if (word_.compare_exchange_strong(expected, left, sys::release, sys::relaxed)) break;
        if ((expected & newest) != 0) {
            // [SL2] Acquire: reads the new waiters. Pairs with the release in push().
            const std::uint64_t found = word_.fetch_and(~newest, sys::acquire);
            gather(found);
            word = found & ~newest;
        } else {
            word = expected;
        }
    }
    // From here on, the lock may have been destroyed. So this thread accesses only the chosen waiters, and
    // accesses each of them for the last time.
    if (chosen.owner != nullptr || chosen.overtakable != nullptr || chosen.completed != nullptr)
        trace::detail::moment(trace::kind::granted, this); // records only the lock's address
    return grant(chosen, this, arriving);
}

// Returns the oldest waiter that may be served in `state`, or null. If `direct_only` is true, returns only a
// waiter whose operation the releaser completes. `direct_only` is true while another waiter has been woken
// and has not tried again yet.
waiter* state_lock::next_for(unsigned state, bool direct_only) const noexcept {
    const auto admitted = [state](const wait_link& head) { return ((head.mask >> state) & 1) != 0; };
    if (rules_->queue_order) {
        const auto in_order = [](const wait_link& head) { return static_cast<const waiter&>(head).in_order; };
        // An operation that continues a section, for example an upgrade, comes first.
        wait_link* link =
            list_.oldest_head([&](const wait_link& head) { return admitted(head) && !in_order(head); });
        if (link == nullptr) {
            link = list_.oldest_head(in_order);
            if (link != nullptr && !admitted(*link)) link = nullptr;
        }
        return static_cast<waiter*>(link);
    }
    if (!direct_only) return static_cast<waiter*>(list_.oldest(state));
    return static_cast<waiter*>(list_.oldest_head(
        [&](const wait_link& head) { return admitted(head) && static_cast<const waiter&>(head).direct; }));
}

// Adds waiters to `chosen` in queue order, as long as the value of `chosen` admits a waiter. Runs the
// transitions of these waiters.
void state_lock::choose(choice& chosen, bool wake_on_its_way) noexcept {
    const auto settle = [&](mask waiting) { chosen.value.state = rules_->settle(chosen.value, waiting); };
    while (chosen.owner == nullptr) {
        const bool direct_only = wake_on_its_way || chosen.overtakable != nullptr;
        const auto waiting = [&] { return list_.masks() | (direct_only ? list_.note() : 0); };
        // In strict queue order, a state can admit waiting threads and not admit new threads.
        if (rules_->settle != nullptr) settle(rules_->queue_order ? 0 : waiting());
        const unsigned state = chosen.value.state;
        waiter* const who = next_for(state, direct_only);
        if (waiter* const woken = chosen.overtakable; woken != nullptr) {
            // Cancels the planned wake-up if the lock is handed to another waiter, or if the state no longer
            // admits the waiter that was to be woken.
            const bool handed = who != nullptr && who->transition == nullptr;
            if (handed || (who == nullptr && ((woken->mask >> state) & 1) == 0)) {
                list_.insert(*woken);
                chosen.overtakable = nullptr;
                if (!handed) continue;
            }
        }
        if (who == nullptr) {
            if (rules_->settle != nullptr && rules_->queue_order) settle(waiting());
            return;
        }
        const bool enough =
            chosen.served >= most_served && !who->group && who->resume == nullptr && !rules_->serves_all;
        if (!who->direct || (enough && !rules_->queue_order && !direct_only)) {
            list_.lend(*who);
            chosen.overtakable = who;
            if (rules_->settle != nullptr) {
                if (state >= max_settled_states)
                    sys::contract_broken("state_lock: more states than a lock with a settle rule may have");
                list_.set_note(static_cast<std::uint32_t>(who->mask) & wait_list::max_note);
            }
            continue;
        }
        if (who->transition == nullptr) {
            list_.remove(*who);
            chosen.owner = who;
        } else {
            chosen.value = who->transition(who->context, chosen.value);
            if ((chosen.value.state & state_value::refused) != 0) { // the waiter stays in the list
                chosen.value.state &= ~state_value::refused;
                if (EKIDEN_MUTANT(state_lock_drops_a_refused_waiter)) list_.remove(*who);
                continue;
            }
            list_.remove(*who);
            ++chosen.served;
            who->next = nullptr;
            *chosen.end = who;
            chosen.end = &who->next;
        }
    }
}

// Sets the outcomes of the chosen waiters, except the outcome of `arriving`. Returns whether `arriving` is
// one of them. A waiter may be destroyed as soon as its outcome is set. The lock may have been destroyed
// already.
bool state_lock::grant(const choice& chosen, const state_lock* lock, const waiter* arriving) noexcept {
    const auto give = [](waiter& who) {
        if (who.resume != nullptr)
            resume_in_turn(who);
        else
            tell(who, waiter::granted);
    };
    if (chosen.owner != nullptr) give(*chosen.owner);
    if (chosen.overtakable != nullptr) tell(*chosen.overtakable, waiter::retry);
    unsigned members = 0; // of the group
    bool has_arrived = false;
    for (wait_link* link = chosen.completed; link != nullptr;) {
        waiter& who = static_cast<waiter&>(*link);
        link = link->next;
        if (&who == arriving) {
            has_arrived = true;
        } else if (who.group) {
            ++members;
            // [SL3] Release: publishes the outcome. Pairs with the acquire in sleep().
            who.status.store(waiter::granted, sys::release);
        } else {
            give(who);
        }
    }
    if (members != 0) {
        sys::atomic<std::uint32_t>& group = group_word(lock);
        // [SL5] Release: publishes the statuses. Pairs with the acquire in sleep().
        if (!EKIDEN_MUTANT(state_lock_group_is_not_counted)) group.fetch_add(1, sys::release);
        help_to_wake(group, members);
        // This call wakes all threads that still sleep. So no thread depends on the help of another one.
        if (!EKIDEN_MUTANT(state_lock_group_relies_on_help)) sys::futex_wake_all(group);
    }
    return has_arrived;
}

// ---- waits that block no thread, and cancellation ---------------

bool state_lock::start(waiter& who) noexcept {
    who.direct = true;
    std::uint64_t word = word_.load(sys::relaxed);
    for (;;) {
        if ((word & locked) == 0 && in(who.mask, word)) {
            const taken result = take(who, word, false);
            if (result == taken::failed) continue;
            return result == taken::done; // if it is queued, `who` may have been resumed and destroyed
        } else if (push(who, word, false)) {
            return false; // `who` may have been resumed and destroyed
        }
    }
}

withdrawal state_lock::withdraw(waiter& who) noexcept {
    bool entered = false;
    std::uint64_t word = take_list(&entered);
    // take_list() has moved every pushed waiter into the list. A waiter gets a ticket in the list, and keeps
    // the ticket after it has left the list. So a waiter without a ticket has not been pushed yet.
    const bool never_came = !who.has_ticket() && !EKIDEN_MUTANT(state_lock_withdraw_overlooks_who_comes);
    const withdrawal result = who.linked() ? withdrawal::taken_out
                              : never_came ? withdrawal::not_there
                                           : withdrawal::served;
    if (who.linked() && !EKIDEN_MUTANT(state_lock_cancel_leaves_a_trace)) list_.remove(who);
    if (entered) {
        // Without this waiter, settle may return a state that admits other waiters.
        (void)serve_and_leave(value_of(word), word);
        return result;
    }
    // Another thread is inside, and settles the state when it leaves. That thread cannot change the state
    // while `listing` is set. If the rules have settle, that thread must check the queue even if the queue is
    // empty. So `queued` stays set.
    for (;;) {
        const bool look = !list_.empty() || (word & waking) != 0
                          || (rules_->settle != nullptr && !EKIDEN_MUTANT(state_lock_cancel_settles_nothing));
        const std::uint64_t still = look ? queued : 0;
        // [SL2] Release: publishes the list. Pairs with the acquire in the next take_list().
        if (word_.compare_exchange_weak(word, (word & ~(listing | queued)) | still, sys::release,
                                        sys::relaxed))
            return result;
    }
}

} // namespace ekiden::inline EKIDEN_ABI
