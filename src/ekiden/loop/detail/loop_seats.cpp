#include <ekiden/loop/detail/loop_seats.hpp>

#include <ekiden/context/thread_context.hpp>
#include <ekiden/sys/contract.hpp>
#include <ekiden/sys/futex.hpp>
#include <ekiden/sys/mutant.hpp>
#include <ekiden/sys/thread.hpp>

#include <bit>

namespace ekiden::inline EKIDEN_ABI {

namespace {

constexpr unsigned bits = 64;

std::size_t words_for(unsigned seats) { return (seats + bits - 1) / bits; }

} // namespace

loop_seats::loop_seats(unsigned seats, work_source source)
    : source_(source), seats_(seats), places_(std::make_unique<place[]>(seats)),
      taken_(new sys::atomic<std::uint64_t>[words_for(seats)]()) {}

loop_seats::~loop_seats() {
    // [LO7] acquire: what those inside have done; pairs with the release in leave().
    while ((state_.load(sys::acquire) & inside_mask) != 0) sys::yield();
}

/// The calling thread goes on with the context after a step that may let others end it: the destructor waits.
void loop_seats::enter() noexcept {
    std::uint64_t state = state_.load(sys::relaxed);
    for (;;) {
        if ((state & inside_mask) == inside_mask) {
            sys::yield(); // 511 at once
            state = state_.load(sys::relaxed);
        } else if (state_.compare_exchange_weak(state, state + one_inside, sys::relaxed, sys::relaxed)) {
            return;
        }
    }
}

// ---- seats

unsigned loop_seats::take_seat() noexcept {
    for (unsigned first = 0; first < seats_; first += bits) {
        sys::atomic<std::uint64_t>& word = taken_[first / bits];
        std::uint64_t taken = word.load(sys::relaxed);
        for (;;) {
            const unsigned seat = first + static_cast<unsigned>(std::countr_one(taken));
            if (seat >= seats_ || seat == first + bits) break;
            // [LO8] acquire: what the thread has left there that had the seat before; pairs with the release
            // in stand_up().
            const std::uint64_t bit = std::uint64_t{1} << (seat - first);
            if (!word.compare_exchange_weak(taken, taken | bit, sys::acquire, sys::relaxed)) continue;
            unsigned used = used_.load(sys::relaxed);
            while (used <= seat && !used_.compare_exchange_weak(used, seat + 1, sys::relaxed, sys::relaxed)) {
            }
            return seat;
        }
    }
    return none;
}

unsigned loop_seats::sit_down(bool waits) noexcept {
    for (;;) {
        if (is_stopped()) return none;
        unsigned seat = take_seat();
        if (seat == none) {
            if (!waits) return none;
            without_seat_.fetch_add(1, sys::relaxed);
            const std::uint32_t seen = departures_.load(sys::relaxed);
            sys::fence(sys::seq_cst); // [LO9] the count of those who wait before the looks
            seat = take_seat();
            if (seat == none && !is_stopped()) {
                const blocked_here waiting("a place in a loop");
                sys::futex_wait(departures_, seen);
            }
            without_seat_.fetch_sub(1, sys::relaxed);
            if (seat == none) continue;
        }
        state_.fetch_add(one_seated, sys::relaxed);
        return seat;
    }
}

void loop_seats::stand_up(unsigned seat) noexcept {
    // [LO1] light: what this thread has left alone (tasks that it has posted for itself, and those of its
    // lease) before the look at state_; pairs with the heavy fence in prepare_wait(), as in notify().
    if (!EKIDEN_MUTANT(loop_leaves_in_a_hurry)) sys::fence_light();
    // No full fence before the look at the queues, for nobody relies on this thread: it has no token. What it
    // answers for it has put there itself.
    if ((state_.load(sys::relaxed) & waiting_mask) != 0 && source_.has_work(source_.self)
        && !EKIDEN_MUTANT(loop_leaves_work_alone))
        notify_sleepers();
    taken_[seat / bits].fetch_and(~(std::uint64_t{1} << seat % bits), sys::release); // [LO8]
    if (is_undecided(state_.fetch_sub(one_seated, sys::release) - one_seated)
        && !EKIDEN_MUTANT(loop_leaves_undecided))
        rouse_any();          // it was the last that did not wait
    sys::fence(sys::seq_cst); // [LO9] the free seat before the look at those who wait
    if (without_seat_.load(sys::relaxed) != 0) {
        departures_.fetch_add(1, sys::relaxed);
        if (!EKIDEN_MUTANT(loop_keeps_seats_secret)) sys::futex_wake_all(departures_);
    }
}

// ---- threads that bring work

void loop_seats::notify_sleepers() noexcept {
    for (;;) {
        // [LO2] The publication before the look at state_; pairs with the token's return and the fence after
        // it in end_search() and below. [LO3] Also with the fence in try_finish(): the thread that decides
        // sees the publication, or this sees that one decides.
        sys::fence(sys::seq_cst);
        std::uint64_t state = state_.load(sys::relaxed);
        if ((state & waiting_mask) == 0 || (state & stopped) != 0) return;
        if ((state & searching) != 0) {
            if ((state & deciding) == 0 || EKIDEN_MUTANT(loop_posts_past_a_decision)) return;
            // It has to look again.
            if (state_.compare_exchange_strong(state, state & ~deciding, sys::relaxed, sys::relaxed)) return;
            continue;
        }
        if (!state_.compare_exchange_strong(state, state | searching, sys::relaxed, sys::relaxed)) continue;
        if (wake_one()) return; // the token is the sleeper's now
        // All that counted as waiting are on their way into sleep, where they look again, or out of it.
        // Others may have left their work to us while we had the token.
        state = state_.fetch_sub(searching, sys::relaxed) - searching;
        sys::fence(sys::seq_cst); // [LO2]
        if (!source_.has_work(source_.self)) {
            if (is_undecided(state)) rouse_any(); // they may have left that to us, too
            return;
        }
        sys::yield(); // to the thread between its two steps
    }
}

bool loop_seats::wake_one() noexcept {
    // The first ones first: fewer threads stay busy, and their caches warm. The one that watches the clock
    // last: another would have to do that then.
    const unsigned used = used_.load(sys::relaxed);
    const unsigned keeper = keeper_.load(sys::relaxed);
    for (unsigned seat = 0; seat != used; ++seat) {
        if (seat != keeper && rouse(places_[seat], notified)) return true;
    }
    return keeper != none && rouse(places_[keeper], notified);
}

bool loop_seats::rouse(place& p, std::uint32_t how) noexcept {
    std::uint32_t expected = idle;
    if (p.word.load(sys::relaxed) != idle
        // [LO5] acquire; pairs with the release in prepare_wait(): the sleeper has been counted before it is
        // taken off the count.
        || !p.word.compare_exchange_strong(expected, EKIDEN_MUTANT(loop_wakes_while_counted) ? how : chosen,
                                           sys::acquire, sys::relaxed)) {
        return false;
    }
    state_.fetch_sub(one_waiting, sys::relaxed);
    // [LO4] release: what the caller did before, and that the sleeper is counted no more: it goes to work.
    p.word.store(how, sys::release);
    if (!EKIDEN_MUTANT(loop_forgets_to_wake)) sys::futex_wake(p.word);
    return true;
}

/// The sleeper, when its word is not idle: how it has been woken.
std::uint32_t loop_seats::outcome(place& p) noexcept {
    std::uint32_t now;
    while ((now = p.word.load(sys::acquire)) == chosen) sys::yield(); // [LO4]
    p.word.store(awake, sys::relaxed);
    return now;
}

/// Has one of the threads that wait look again. If none of their words is idle, all are on their way, and
/// look later than this.
void loop_seats::rouse_any() noexcept {
    sys::fence(sys::seq_cst); // [LO3] the caller's step before the look at the words
    const unsigned used = used_.load(sys::relaxed);
    for (unsigned seat = 0; seat != used; ++seat) {
        if (rouse(places_[seat], signalled)) return;
    }
}

void loop_seats::work_finished() noexcept {
    std::uint64_t state = state_.load(sys::relaxed);
    for (;;) {
        // [LO6] release: what the work has done, for the thread that stops. Not the last one, or nobody
        // waits: this step is the last look at the context.
        sys::expects(state >= one_work, "on_work_finished() is called more often than on_work_started()");
        const bool is_last = (state >> 32) == 1 && (state & waiting_mask) != 0;
        const std::uint64_t next = state - one_work + (is_last ? one_inside : 0);
        if (!state_.compare_exchange_weak(state, next, sys::release, sys::relaxed)) continue;
        if (!is_last) return;
        if (!EKIDEN_MUTANT(loop_work_ends_in_silence)) rouse_any();
        leave();
        return;
    }
}

void loop_seats::stop() noexcept {
    enter();
    state_.fetch_or(stopped, sys::release); // [LO6]
    sys::fence(sys::seq_cst);               // [LO3] before the look at the words
    const unsigned used = used_.load(sys::relaxed);
    for (unsigned seat = 0; seat != used; ++seat) {
        if (!EKIDEN_MUTANT(loop_stops_in_silence)) (void)rouse(places_[seat], signalled);
    }
    departures_.fetch_add(1, sys::relaxed);
    if (without_seat_.load(sys::relaxed) != 0) sys::futex_wake_all(departures_); // [LO9]
    leave();
}

// ---- the searcher

bool loop_seats::try_begin_search() noexcept {
    std::uint64_t state = state_.load(sys::relaxed);
    while ((state & searching) == 0) {
        // One that fails has met a change of something else, mostly. The caller may have given the token back
        // to take it on again: then nobody else may have seen what it has to look for.
        if (state_.compare_exchange_strong(state, state | searching, sys::relaxed, sys::relaxed)) return true;
        if (EKIDEN_MUTANT(loop_leaves_the_token)) break;
    }
    return false;
}

void loop_seats::end_search() noexcept {
    const std::uint64_t before = state_.fetch_sub(searching, sys::relaxed);
    if ((before & waiting_mask) == 0) return;
    sys::fence(sys::seq_cst); // [LO2] the token's return before the look at the queues
    if (source_.has_work(source_.self) && !EKIDEN_MUTANT(loop_searcher_wakes_nobody)) notify_sleepers();
}

// ---- the sleeper

void loop_seats::prepare_wait(unsigned seat, bool has_token) noexcept {
    // [LO6] release: what this thread has done, for the one that stops.
    state_.fetch_add(one_waiting - (has_token ? searching : 0), sys::release);
    places_[seat].word.store(idle, sys::release); // [LO5] the count; pairs with the acquire in rouse()
    // [LO1], [LO3] heavy: the two steps above before the caller's looks.
    sys::fence_heavy();
}

loop_seats::wake_up loop_seats::commit_wait(unsigned seat, const sys::clock::time_point* deadline) noexcept {
    const blocked_here waiting("work of a loop"); // if the thread works for another context too
    sys::atomic<std::uint32_t>& word = places_[seat].word;
    while (word.load(sys::relaxed) == idle) {
        if (deadline == nullptr) {
            sys::futex_wait(word, idle);
        } else if (!sys::futex_wait_until(word, idle, *deadline)) {
            const wake_up last = cancel_wait(seat);
            return last == wake_up::notified ? last : wake_up::timed_out;
        }
    }
    return outcome(places_[seat]) == notified ? wake_up::notified : wake_up::signalled;
}

loop_seats::wake_up loop_seats::cancel_wait(unsigned seat) noexcept {
    sys::atomic<std::uint32_t>& word = places_[seat].word;
    std::uint32_t now = idle;
    if (word.compare_exchange_strong(now, awake, sys::relaxed, sys::relaxed)) {
        state_.fetch_sub(one_waiting, sys::relaxed);
        return wake_up::signalled;
    }
    return outcome(places_[seat]) == notified ? wake_up::notified : wake_up::signalled;
}

loop_seats::verdict loop_seats::try_finish(unsigned seat) noexcept {
    // relaxed, as the next step: what counts is acquired behind them, by the fence and with the decision.
    std::uint64_t state = state_.load(sys::relaxed);
    if (!is_undecided(state)) return verdict::not_yet;
    const std::uint64_t mine = state | searching | deciding;
    if (!state_.compare_exchange_strong(state, mine, sys::relaxed, sys::relaxed)) {
        const bool has_token = cancel_wait(seat) == wake_up::notified;
        return has_token ? verdict::look_again : verdict::changed;
    }
    // [LO3] The announcement before the last look; pairs with the fence in notify_sleepers(). Either this
    // sees the publication, or the thread that has published ends the decision.
    sys::fence(sys::seq_cst);
    std::uint64_t expected = mine;
    // [LO6] acquire: what the others and their work have done, also what has begun and ended since that
    // fence. It releases nothing: what this thread has done, prepare_wait() has released.
    if ((EKIDEN_MUTANT(loop_stops_without_a_look) || !source_.has_work(source_.self))
        && state_.compare_exchange_strong(expected, (mine | stopped) & ~(searching | deciding), sys::acquire,
                                          sys::relaxed)) {
        has_run_dry_.store(true, sys::relaxed);
        (void)cancel_wait(seat);
        sys::fence(sys::seq_cst); // [LO3], [LO9]
        const unsigned used = used_.load(sys::relaxed);
        for (unsigned other = 0; other != used; ++other) {
            if (!EKIDEN_MUTANT(loop_decides_in_silence)) (void)rouse(places_[other], signalled);
        }
        if (without_seat_.load(sys::relaxed) != 0) { // [LO9]
            departures_.fetch_add(1, sys::relaxed);
            sys::futex_wake_all(departures_);
        }
        return verdict::stopped;
    }
    state_.fetch_and(~deciding, sys::relaxed); // the token stays
    (void)cancel_wait(seat);                   // nobody else has had a token to give
    return verdict::look_again;
}

// ---- the timekeeper

bool loop_seats::try_keep_time(unsigned seat) noexcept {
    unsigned expected = none;
    const bool is_keeper = keeper_.load(sys::relaxed) == seat
                           || keeper_.compare_exchange_strong(expected, seat, sys::relaxed, sys::relaxed);
    sys::fence(sys::seq_cst); // [LO10] before the look at the clocks; pairs with the one in alarm_moved()
    return is_keeper;
}

bool loop_seats::stop_keeping_time() noexcept {
    keeper_.store(none, sys::relaxed);
    // [LO10] before the looks at the count and at the alarms: a thread that sleeps without watching the clock
    // has found the place of the keeper taken after it was counted.
    sys::fence(sys::seq_cst);
    return (state_.load(sys::relaxed) & waiting_mask) != 0 && !EKIDEN_MUTANT(loop_forgets_the_time);
}

void loop_seats::alarm_moved() noexcept {
    sys::fence(sys::seq_cst); // [LO10] the alarm before the looks
    const unsigned keeper = keeper_.load(sys::relaxed);
    if (EKIDEN_MUTANT(loop_ignores_a_moved_alarm)) return;
    if (keeper != none)
        (void)rouse(places_[keeper], signalled); // or it is awake, and looks before it sleeps
    else if ((state_.load(sys::relaxed) & waiting_mask) != 0)
        rouse_any();
}

} // namespace ekiden::inline EKIDEN_ABI
