#include <ekiden/fork/detail/fork_party.hpp>

#include <ekiden/context/thread_context.hpp>
#include <ekiden/pool/detail/event_count.hpp>
#include <ekiden/sys/clock.hpp>
#include <ekiden/sys/contract.hpp>
#include <ekiden/sys/mutant.hpp>
#include <ekiden/sys/spin.hpp>

#include <algorithm>
#include <mutex>
#include <utility>

namespace ekiden::inline EKIDEN_ABI {

// ---- the victim's side: publish, take back

std::uint64_t fork_party::begin_tree(std::uint64_t now) noexcept {
    if (now - last_tree_ns_ >= arena_.look_ns_) first_tree_ns_ = now;
    return first_tree_ns_ + arena_.wake_up_ns();
}

bool fork_scope::share() noexcept { return static_cast<fork_party*>(party_)->share(*this); }

bool fork_party::share(fork_scope& newest) noexcept {
    if (arena_.is_in_forked_child()) return true;                // nobody is there to take anything
    if (is_quiet() && !arena_.sleep_.is_searched()) return true; // the request of those who sleep stands
    asked.store(nothing, sys::relaxed);                          // [AS1]
    // [AS2] The request's end before the look at who sleeps: whoever goes to sleep later asks again. Pairs
    // with the fence in event_count::prepare_wait() and the fence in sleep_for().
    sys::fence(sys::seq_cst); // [AS2]
    const std::uint64_t hungry = arena_.sleep_.waiting() + (sleeping_parent() != nullptr ? 1 : 0);
    if (hungry != 0) asked.store(wanted, sys::relaxed); // until they have all got something
    // One for each, and one for whoever is awake and asks, or has been woken and is on its way.
    if (ring_.size() > hungry) return true;
    fork_scope*& newest_published = innermost_.read()->newest_published;
    if (&newest == newest_published) {
        ask_to_restock();
        return false;
    }
    auto* const oldest = static_cast<fork_child*>(newest_published->newer_);
    if (publish(*oldest, *newest_published)) newest_published = oldest;
    return true;
}

void fork_scope::offer_all() noexcept { static_cast<fork_party*>(party_)->publish_all(*this); }

void fork_party::publish_all(fork_scope& newest) noexcept {
    // A call that waits for a result takes what is on offer, its own thread's too, and that may wait as well:
    // if all were offered there again, the stack would grow with the number of calls.
    if (arena_.is_in_forked_child() || innermost_.read()->is_in_wait) return;
    fork_scope*& newest_published = innermost_.read()->newest_published;
    while (&newest != newest_published) {
        auto* const oldest = static_cast<fork_child*>(newest_published->newer_);
        if (!publish(*oldest, *newest_published)) return;
        newest_published = oldest;
    }
}

bool fork_party::publish(fork_child& oldest, fork_scope& older) noexcept {
    const bool wakes_nobody = is_quiet();
    ::new (static_cast<void*>(&oldest.shared_)) fork_child::publication{oldest.run_, &older};
    if (!ring_.push(&oldest)) {
        oldest.shared_.~publication();
        return false;
    }
    oldest.run_ = nullptr;
    // [AS3] The child before the look at who sleeps; pairs as [AS2]. Either this sees the sleeper, or the
    // sleeper sees the child in its last look around.
    sys::fence(sys::seq_cst); // [AS3]
    if (const fork_child* const awaited = sleeping_parent();
        awaited != nullptr && !EKIDEN_MUTANT(fork_publish_forgets_the_parent))
        static_cast<fork_party*>(awaited->party_)->parker_.unpark();
    if (wakes_nobody)
        untold_until_ns_ = std::min(untold_until_ns_, innermost_.read()->quiet_until_ns);
    else if (!EKIDEN_MUTANT(fork_publish_forgets_the_workers))
        arena_.sleep_.notify();
    return true;
}

/// Whether the innermost segment still wakes no worker. If not, or if the time is up of an outer one that has
/// published something meanwhile, one is woken for that: share() takes it that what is on offer has been
/// told.
bool fork_party::is_quiet() noexcept {
    std::uint64_t& until = innermost_.read()->quiet_until_ns;
    if (until == 0 && untold_until_ns_ == all_told) return false;
    const std::uint64_t now = sys::now_ns();
    if (now >= until) until = 0;
    if (untold_until_ns_ != all_told && (until == 0 || now >= untold_until_ns_)) {
        untold_until_ns_ = all_told;
        if (ring_.size() != 0 && !EKIDEN_MUTANT(fork_quiet_end_wakes_nobody)) arena_.sleep_.notify();
    }
    return until != 0;
}

/// The innermost piece that this thread runs and whose parent sleeps until it is done or offers something.
fork_child* fork_party::sleeping_parent() const noexcept {
    for (const fork_segment* s = innermost_.read(); s != nullptr; s = s->outer) {
        if (s->piece != nullptr && s->piece->shared_.state.load(sys::relaxed) == fork_child::awaited)
            return s->piece;
    }
    return nullptr;
}

bool fork_child::reclaim() noexcept {
    auto& party = *static_cast<fork_party*>(party_);
    // Published children are joined newest first and stolen oldest first: if any is left, this one is.
    const fork_child* const left = party.ring_.pop();
    sys::expects(
        left == this || left == nullptr,
        "fork_join: calls are joined out of order: a fork_scope was used outside of the call that it "
        "was given to");
    if (left == nullptr && !EKIDEN_MUTANT(fork_join_does_not_wait)) party.wait_for(*this);
    party.innermost_.read()->newest_published = shared_.older;
    if (party.ring_.size() == 0) party.ask_to_restock();
    return left != nullptr;
}

// ---- waiting for a child that another thread has taken

void fork_party::wait_for(fork_child& child) noexcept {
    // [CH1] acquire: the child's result; pairs with the release in run().
    while (child.shared_.state.load(sys::acquire) != fork_child::done) {
        sys::expects(!arena_.is_in_forked_child(),
                     "fork_join: a call that called fork() has returned in the child to one that waits for a "
                     "thread of the parent; such a child ends with exec or _exit");
        if (fork_child* const taken = find_inside(child))
            run(*taken);
        else if (!spin_for(child))
            sleep_for(child);
    }
}

bool fork_party::may_find_inside(const fork_child& child) noexcept {
    // [CH2] acquire: first_own; pairs with the release in run().
    const fork_party* const thief = child.shared_.thief.load(sys::acquire);
    return thief != nullptr && thief->ring_.has_from(child.shared_.first_own.load(sys::relaxed));
}

/// Takes what the thief of `child` has forked for it. So this thread gets on with what it waits for, its
/// stack does not grow beyond that of the plain calls by more than a frame a level, and no caller's lock is
/// in the way: leapfrogging (D. B. Wagner, B. G. Calder, PPoPP 1993).
fork_child* fork_party::find_inside(const fork_child& child) noexcept {
    if (!may_find_inside(child)) return nullptr;
    // may_find_inside() has acquired it, and it is set only once.
    fork_party* const thief = child.shared_.thief.load(sys::relaxed);
    const std::uint64_t first_own = child.shared_.first_own.load(sys::relaxed);
    fork_child* const found = thief->ring_.steal_if([&](std::uint64_t index) {
        // What the thief publishes after the child's end has been seen here together with that end: [FD1]
        // acquired it.
        return fork_deque::is_from(index, first_own)
               && (child.shared_.state.load(sys::acquire) != fork_child::done
                   || EKIDEN_MUTANT(fork_parent_trusts_an_old_claim));
    });
    if (found != nullptr) thief->ask_to_restock();
    return found;
}

/// Looks for a while. True if there is something to do.
bool fork_party::spin_for(const fork_child& child) noexcept {
    unsigned turn = 0;
    return sys::spin_until([&] {
        // wait_for() acquires.
        if (child.shared_.state.load(sys::relaxed) == fork_child::done) return true;
        if (turn++ % 16 != 0) return false; // the rest disturbs the thief
        fork_party* const thief =
            child.shared_.thief.load(sys::relaxed); // only to ask: parties are type-stable
        if (thief != nullptr) thief->ask();
        return may_find_inside(child);
    });
}

/// Sleeps until the child is done or its thief has something for this thread.
void fork_party::sleep_for(fork_child& child) noexcept {
    role_scope::announce_all(); // tasks that this thread has deferred: another one gets them
    std::uint32_t state = fork_child::begun;
    if (!child.shared_.state.compare_exchange_strong(state, fork_child::awaited, sys::relaxed, sys::relaxed))
        return; // done: wait_for() acquires
    // [AS2], [AS3] The sleeper in sight before the look at the request and at what is published; pairs with
    // the fences in share() and publish().
    sys::fence(sys::seq_cst); // [AS2], [AS3]
    fork_party* const thief = child.shared_.thief.load(sys::relaxed);
    if (thief != nullptr) thief->ask();
    if (!may_find_inside(child) || EKIDEN_MUTANT(fork_parent_sleeps_without_a_last_look)) parker_.park();
    state = fork_child::awaited;
    (void)child.shared_.state.compare_exchange_strong(state, fork_child::begun, sys::relaxed, sys::relaxed);
}

// ---- the thief's side

fork_child* fork_party::find() noexcept {
    fork_child* found = nullptr;
    const auto take_from = [&found](const fork_member& member) {
        if (member.party->maybe_offers()) found = member.party->ring_.steal();
        if (found != nullptr) member.party->ask_to_restock();
        return found != nullptr;
    };
    // A victim that had something last has probably more.
    if (victim_ == nullptr || !take_from(*victim_)) victim_ = arena_.first_of(take_from);
    return found;
}

void fork_party::run(fork_child& taken) noexcept {
    auto* const parent = static_cast<fork_party*>(taken.party_);
    {
        fork_segment piece(*this, &taken);
        taken.shared_.first_own.store(ring_.next_index(), sys::relaxed);
        taken.shared_.thief.store(this, sys::release); // [CH2] first_own; pairs with the acquires of thief
        taken.shared_.run(&taken, piece.base);
    }
    // [CH1] release: the result; pairs with the acquires in wait_for(). The child is gone when its parent
    // sees this; the party stays.
    if (taken.shared_.state.exchange(fork_child::done, sys::release) == fork_child::awaited
        && !EKIDEN_MUTANT(fork_end_forgets_the_parent))
        parent->parker_.unpark();
}

void fork_party::run_as_worker(fork_child& taken) noexcept {
    fork_segment* const outer = innermost_.read();
    const bool before = outer != nullptr && std::exchange(outer->is_in_wait, true);
    run(taken);
    if (outer != nullptr) outer->is_in_wait = before;
}

fork_segment::fork_segment(fork_party& owner, fork_child* taken, std::uint64_t quiet_until) noexcept
    : party(owner), base(&owner), newest_published(&base), piece(taken), outer(owner.innermost_.read()),
      quiet_until_ns(quiet_until), is_in_wait(outer != nullptr && outer->is_in_wait) {
    party.innermost_.write(this);
    // Somebody may have asked while this party was not there to be asked.
    if (!EKIDEN_MUTANT(fork_segment_does_not_ask))
        party.asked.store(fork_request::wanted, sys::relaxed); // [AS1]
}

fork_segment::~fork_segment() {
    party.innermost_.write(outer);
    party.ask_to_restock(); // for the outer segment
}

// ---- the parties of a pool

void fork_arena::add(std::unique_ptr<fork_member> fresh) {
    const std::lock_guard guard(growing_);
    owned_.push_back(std::move(fresh));
    fork_member* const member = owned_.back().get();
    member->next = members_.load(sys::relaxed);
    members_.store(member, sys::release); // [GU1] the member; pairs with the acquire in first_of()
}

void fork_arena::add_worker(fork_party& party) {
    add(std::make_unique<fork_member>(fork_member{&party, nullptr}));
}

fork_party& fork_arena::enter() {
    const fork_member* const free = first_of([](const fork_member& member) {
        return member.guest != nullptr && !member.party->is_taken_.load(sys::relaxed)
               && !member.party->is_taken_.exchange(true, sys::acquire); // [GU2]
    });
    if (free != nullptr) return *free->party;
    auto guest = std::make_unique<fork_party>(*this);
    fork_party& party = *guest;
    party.is_taken_.store(true, sys::relaxed);
    add(std::make_unique<fork_member>(fork_member{&party, std::move(guest)}));
    return party;
}

void fork_arena::leave(fork_party& party) noexcept {
    party.is_taken_.store(false, sys::release); // [GU2] the party's state; pairs with the acquire in enter()
}

bool fork_arena::has_offer() const noexcept {
    return first_of([](const fork_member& member) { return member.party->maybe_offers(); }) != nullptr;
}

std::uint64_t fork_arena::wake_up_ns() const noexcept { return sleep_.wake_up_ns(); }
bool fork_arena::is_watched() noexcept { return sleep_.is_watched(); }

void fork_arena::ask_all() noexcept {
    (void)first_of([](const fork_member& member) {
        member.party->ask();
        return false;
    });
}

} // namespace ekiden::inline EKIDEN_ABI
