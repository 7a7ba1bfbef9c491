#include <ekiden/fork/detail/fork_participant.hpp>

#include <ekiden/context/thread_context.hpp>
#include <ekiden/pool/detail/event_count.hpp>
#include <ekiden/sys/clock.hpp>
#include <ekiden/sys/contract.hpp>
#include <ekiden/sys/mutant.hpp>
#include <ekiden/sys/spin.hpp>

#include <mutex>
#include <utility>

namespace ekiden::inline EKIDEN_ABI {

// ---- the victim: publishes children and takes them back

bool fork_scope::share() noexcept { return static_cast<fork_participant*>(participant_)->share(*this); }

bool fork_participant::share(fork_scope& newest) noexcept {
    if (arena_.is_in_forked_child()) return true;                // this process has no other thread
    if (is_quiet() && !arena_.sleep_.is_searched()) return true; // the request stays set
    asked.store(nothing, sys::relaxed);                          // [AS1]
    // [AS2] Orders the clearing of the request before the check for sleeping threads. Pairs with the fences
    // in event_count::prepare_wait() and in sleep_for(). If this check misses a thread, that thread sets the
    // request again.
    sys::fence(sys::seq_cst); // [AS2]
    const std::uint64_t hungry = arena_.sleep_.waiting() + (sleeping_parent() != nullptr ? 1 : 0);
    if (hungry != 0) asked.store(wanted, sys::relaxed); // stays set until each hungry thread has a child
    // Publish one child for each sleeping thread, and one more for a thread that is awake and asks, or that
    // is about to wake.
    if (ring_.size() > hungry) return true;
    if (&newest == innermost_.read()->newest_published) {
        ask_to_restock();
        return false;
    }
    (void)publish_oldest();
    return true;
}

void fork_scope::offer_all() noexcept { static_cast<fork_participant*>(participant_)->publish_all(*this); }

void fork_participant::publish_all(fork_scope& newest) noexcept {
    // A call that waits for a result runs published children meanwhile, including children of its own thread.
    // If such a child published all children again, the stack would grow with the number of calls.
    if (arena_.is_in_forked_child() || innermost_.read()->is_in_wait) return;
    while (&newest != innermost_.read()->newest_published && publish_oldest()) {
    }
}

/// Publishes the oldest private child. Returns false if the ring is full.
bool fork_participant::publish_oldest() noexcept {
    fork_scope*& newest_published = innermost_.read()->newest_published;
    auto* const oldest = static_cast<fork_child*>(newest_published->newer_);
    ::new (static_cast<void*>(&oldest->shared_)) fork_child::publication{oldest->run_, newest_published};
    if (!ring_.push(oldest)) {
        oldest->shared_.~publication();
        return false;
    }
    oldest->run_ = nullptr;
    newest_published = oldest;
    // [AS3] Orders the push of the child before the check for sleeping threads. Pairs with the fences of
    // [AS2]. Either this thread sees the sleeper, or the sleeper sees the child in its last check.
    // [AS4] Orders the push of the child before the read of is_watched(). Pairs with the fence in
    // event_count::end_watch(). Either this thread sees the end of the watch, or the watcher sees the child.
    sys::fence(sys::seq_cst); // [AS3], [AS4]
    if (const fork_child* const awaited = sleeping_parent();
        awaited != nullptr && !EKIDEN_MUTANT(fork_publish_forgets_the_parent))
        static_cast<fork_participant*>(awaited->participant_)->parker_.unpark();
    const bool is_left_to_watcher = quiet_until_ns_ != 0 && arena_.sleep_.is_watched();
    if (!is_left_to_watcher && !EKIDEN_MUTANT(fork_publish_forgets_the_workers)) wake_workers();
    return true;
}

/// Wakes a worker for a published child. Usually, the worker that has been woken last still holds the token,
/// and will wake the next worker. If children wait meanwhile, one more worker is woken without the token, so
/// that a large pool is awake sooner.
void fork_participant::wake_workers() noexcept {
    if (arena_.sleep_.notify() || ring_.size() < many_children || arena_.sleep_.waiting() == 0) return;
    if (!EKIDEN_MUTANT(fork_wakes_one_after_the_other)) (void)arena_.sleep_.signal_any(1);
}

/// Returns true if published children wake no worker now. Ends the quiet time if the time has passed.
bool fork_participant::is_quiet() noexcept {
    if (quiet_until_ns_ == 0) return false;
    if (sys::now_ns() < quiet_until_ns_) return true;
    end_quiet();
    return false;
}

void fork_participant::end_quiet() noexcept {
    quiet_until_ns_ = 0;
    if (ring_.size() != 0 && !EKIDEN_MUTANT(fork_quiet_end_wakes_nobody)) arena_.sleep_.notify();
}

/// Returns the innermost child that this thread runs and whose parent sleeps.
fork_child* fork_participant::sleeping_parent() const noexcept {
    for (const fork_segment* s = innermost_.read(); s != nullptr; s = s->outer) {
        if (s->piece != nullptr && s->piece->shared_.state.load(sys::relaxed) == fork_child::awaited)
            return s->piece;
    }
    return nullptr;
}

bool fork_child::reclaim() noexcept {
    auto& participant = *static_cast<fork_participant*>(participant_);
    // Children are joined newest first and stolen oldest first. So if any published child is left, this child
    // is left, and is the newest published child.
    const fork_child* const left = participant.ring_.pop();
    sys::expects(
        left == this || left == nullptr,
        "fork_join: calls are joined out of order: a fork_scope was used outside of the call that it "
        "was given to");
    if (left == nullptr && !EKIDEN_MUTANT(fork_join_does_not_wait)) participant.wait_for(*this);
    participant.innermost_.read()->newest_published = shared_.older;
    if (participant.ring_.size() == 0) participant.ask_to_restock();
    return left != nullptr;
}

// ---- the parent: waits for a child that another thread has stolen

void fork_participant::wait_for(fork_child& child) noexcept {
    // [CH1] Acquire: makes the child's result visible. Pairs with the release in run().
    while (child.shared_.state.load(sys::acquire) != fork_child::done) {
        sys::expects(!arena_.is_in_forked_child(),
                     "fork_join: a call that called fork() has returned in the child to one that waits for a "
                     "thread of the parent; such a child ends with exec or _exit");
        if (thread_record::here().is_stack_low()) [[unlikely]]
            sleep_for(child, false);
        else if (fork_child* const taken = find_inside(child))
            run(*taken);
        else if (!spin_for(child))
            sleep_for(child, true);
    }
}

bool fork_participant::may_find_inside(const fork_child& child) noexcept {
    // [CH2] Acquire: makes first_own visible. Pairs with the release in run().
    const fork_participant* const thief = child.shared_.thief.load(sys::acquire);
    return thief != nullptr && thief->ring_.has_from(child.shared_.first_own.load(sys::relaxed));
}

/// Steals a call that the thief of `child` has forked inside `child` (leapfrogging: Wagner, Calder, PPoPP
/// 1993). So this thread helps to complete the child for which it waits. The stack of this thread grows no
/// deeper than with plain calls, except for one frame per level. The stolen call needs no lock that this
/// thread already holds.
fork_child* fork_participant::find_inside(const fork_child& child) noexcept {
    if (!may_find_inside(child)) return nullptr;
    // Relaxed: may_find_inside() has acquired `thief`, which is set only once.
    fork_participant* const thief = child.shared_.thief.load(sys::relaxed);
    const std::uint64_t first_own = child.shared_.first_own.load(sys::relaxed);
    fork_child* const found = thief->ring_.steal_if([&](std::uint64_t index) {
        // Does not steal a child that the thief has published after setting `done`. If this thread sees such
        // a child, [FD1] makes the store of `done` visible to this thread.
        return fork_deque::is_from(index, first_own)
               && (child.shared_.state.load(sys::acquire) != fork_child::done
                   || EKIDEN_MUTANT(fork_parent_trusts_an_old_claim));
    });
    if (found != nullptr) thief->ask_to_restock();
    return found;
}

/// Spins for a short time. Returns true as soon as the child is done, or as soon as this thread can steal a
/// call that was forked inside the child.
bool fork_participant::spin_for(const fork_child& child) noexcept {
    unsigned turn = 0;
    return sys::spin_until([&] {
        if (child.shared_.state.load(sys::relaxed) == fork_child::done) return true; // wait_for() acquires
        if (turn++ % 16 != 0) return false; // the thief also writes to the cache lines below
        fork_participant* const thief =
            child.shared_.thief.load(sys::relaxed); // relaxed: participants outlive this call
        if (thief != nullptr) thief->ask();
        return may_find_inside(child);
    });
}

/// Sleeps until `child` is done, or until the thief of `child` has published a child. If `helps` is false,
/// the calling thread leaves such children to other threads.
void fork_participant::sleep_for(fork_child& child, bool helps) noexcept {
    role_scope::announce_all(); // so that other threads can run the deferred tasks of this thread
    std::uint32_t state = fork_child::begun;
    if (!child.shared_.state.compare_exchange_strong(state, fork_child::awaited, sys::relaxed, sys::relaxed))
        return; // the child is done; wait_for() acquires
    // [AS2], [AS3] Orders the mark `awaited` before the request and the check of the thief's ring. Pairs with
    // the fences in share() and publish_oldest().
    sys::fence(sys::seq_cst); // [AS2], [AS3]
    fork_participant* const thief = child.shared_.thief.load(sys::relaxed);
    if (thief != nullptr && helps) thief->ask();
    if (!helps || !may_find_inside(child) || EKIDEN_MUTANT(fork_parent_sleeps_without_a_last_look))
        parker_.park();
    state = fork_child::awaited;
    (void)child.shared_.state.compare_exchange_strong(state, fork_child::begun, sys::relaxed, sys::relaxed);
}

// ---- the thief

fork_child* fork_participant::find() noexcept {
    fork_child* found = nullptr;
    const auto steal_from = [&found](fork_participant& participant) {
        if (participant.maybe_offers()) found = participant.ring_.steal();
        if (found != nullptr) participant.ask_to_restock();
        return found != nullptr;
    };
    // The last victim probably has more children. If all thieves searched in the same order, they would
    // contend for the children of the first participants.
    if (victim_ == nullptr || !steal_from(*victim_)) victim_ = arena_.first_behind(*this, steal_from);
    return found;
}

void fork_participant::run(fork_child& taken) noexcept {
    auto* const parent = static_cast<fork_participant*>(taken.participant_);
    {
        fork_segment piece(*this, &taken);
        taken.shared_.first_own.store(ring_.next_index(), sys::relaxed);
        taken.shared_.thief.store(this, sys::release); // [CH2] Release: publishes first_own.
        taken.shared_.run(&taken, piece.base);
    }
    // [CH1] Release: publishes the result. Pairs with the acquire in wait_for(). The parent may destroy the
    // child as soon as the parent sees `done`. The parent's participant still exists then.
    if (taken.shared_.state.exchange(fork_child::done, sys::release) == fork_child::awaited
        && !EKIDEN_MUTANT(fork_end_forgets_the_parent))
        parent->parker_.unpark();
}

void fork_participant::run_as_worker(fork_child& taken) noexcept {
    fork_segment* const outer = innermost_.read();
    const bool before = outer != nullptr && std::exchange(outer->is_in_wait, true);
    run(taken);
    if (outer != nullptr) outer->is_in_wait = before;
}

fork_segment::fork_segment(fork_participant& owner, fork_child* taken, std::uint64_t quiet_until) noexcept
    : participant(owner), base(&owner), newest_published(&base), piece(taken), outer(owner.innermost_.read()),
      was_quiet(owner.quiet_until_ns_ != 0), is_in_wait(outer != nullptr && outer->is_in_wait) {
    participant.innermost_.write(this);
    if (!was_quiet)
        participant.quiet_until_ns_ = quiet_until;
    else if (quiet_until == 0)
        participant.end_quiet();
    // A thread may have set all requests before this participant was in the list.
    if (!EKIDEN_MUTANT(fork_segment_does_not_ask))
        participant.asked.store(fork_request::wanted, sys::relaxed); // [AS1]
}

fork_segment::~fork_segment() {
    if (!was_quiet) participant.quiet_until_ns_ = 0;
    participant.innermost_.write(outer);
    participant.ask_to_restock(); // on behalf of the outer segment
}

// ---- the participants of a pool

void fork_arena::add(fork_participant& participant) noexcept {
    participant.next_ = newest_.load(sys::relaxed);
    // [GU1] Release: publishes the participant. Pairs with the acquire in first_of(). Acquire: makes the
    // older participants visible, with which first_behind() begins. Pairs with the release of this exchange
    // in other threads.
    while (!newest_.compare_exchange_weak(participant.next_, &participant, sys::acq_rel, sys::relaxed)) {
    }
}

fork_participant& fork_arena::enter() {
    fork_participant* const free = first_of([](fork_participant& participant) {
        return participant.is_guest_ && !participant.is_taken_.load(sys::relaxed)
               && !participant.is_taken_.exchange(true, sys::acquire); // [GU2] Acquire: pairs with leave()
    });
    if (free != nullptr) return *free;
    auto fresh = std::make_unique<fork_participant>(*this);
    fork_participant& participant = *fresh;
    participant.is_guest_ = true;
    participant.is_taken_.store(true, sys::relaxed);
    {
        const std::lock_guard guard(guests_lock_);
        guests_.push_back(std::move(fresh));
    }
    add(participant);
    return participant;
}

void fork_arena::leave(fork_participant& participant) noexcept {
    participant.is_taken_.store(
        false, sys::release); // [GU2] Release: publishes the participant's state. Pairs with enter().
}

bool fork_arena::has_offer() const noexcept {
    return first_of([](const fork_participant& participant) { return participant.maybe_offers(); })
           != nullptr;
}

void fork_arena::ask_all() noexcept {
    (void)first_of([](fork_participant& participant) {
        participant.ask();
        return false;
    });
}

} // namespace ekiden::inline EKIDEN_ABI
