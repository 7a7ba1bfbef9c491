// Requests with several keys: their posts, the grants of their claims, and their end.
#include <ekiden/context/serial_scope.hpp>
#include <ekiden/execution/detail/post_scope.hpp>
#include <ekiden/lanes/detail/dropped_requests.hpp>
#include <ekiden/lanes/detail/lanes_state.hpp>
#include <ekiden/lanes/detail/post_wait.hpp>
#include <ekiden/observe/trace.hpp>
#include <ekiden/sys/bad_argument.hpp>
#include <ekiden/sys/mutant.hpp>
#include <ekiden/sys/thread.hpp>

#include <exception>
#include <memory>
#include <optional>
#include <utility>

namespace ekiden::inline EKIDEN_ABI {

// ---- posts

void lanes_state::expect_key_count(std::size_t count, const char* where) {
    constexpr std::size_t most_keys = 1024; // each key of a running request needs space on the stack
    if (count > most_keys) sys::refuse_argument(where, "number of keys", count, "0 to 1024");
}

void lanes_state::refuse_keys_of_others(const char* where) {
    sys::refuse_argument(where, "keys", "a list or handle of other lanes", "one of these lanes");
}

void lanes_state::refuse_capacity() {
    sys::refuse_argument("lane_type::get_executor", "lanes", "a handle of lanes with a capacity",
                         "a handle of lanes without a capacity");
}

/// A shard in which a request has claims. The shards of a post are sorted by their addresses, so that all
/// threads acquire the locks of several shards in the same order.
struct lanes_state::post_shard {
    lane_shard* shard = nullptr;
    const task* claim = nullptr; // one of the claims
    bool has_drain = false;      // true if the posting thread owns the drain
    bool has_leftovers = false;
};

bool lanes_state::enqueue(lane_request& given, task_order order) {
    if (is_measured()) given.when = time();
    add_handle(); // the function may drop the last handle before this call returns
    struct handle {
        lanes_state& all;
        ~handle() { all.drop_handle(); }
    } const kept{*this};

    if (thread_record::here().entered != nullptr) order = task_order::immediate; // must not wait
    std::optional<post_scope> posting(std::in_place, inner_);
    if (posting->is_refused()) {
        given.drop();
        given.end();
        return false;
    }
    short_list<post_shard> shards;
    std::unique_ptr<std::optional<post_wait>[]> waits;
    const std::uint32_t count = given.claims;
    try {
        for (std::uint32_t n = 0; n != count; ++n) {
            lane_claim& c = given.claim(n);
            if (n == 0 || shards.back().shard != c.shard) shards.push({c.shard, &c});
        }
        if (is_bounded_) waits = std::make_unique<std::optional<post_wait>[]>(count);
        trace::detail::moment(trace::kind::queued, &given.claim(0));
        const auto answer = is_bounded_ ? push_bounded(given, shards, waits.get(), order) : std::nullopt;
        if (answer) {
            given.drop();
            given.end();
            return *answer;
        }
    } catch (...) { // the request is in no lane
        given.drop();
        given.end();
        throw;
    }
    if (!is_bounded_) push_unbounded(given, shards);
    // From here on, another thread may run and free the request.
    bool is_accepted = true;
    std::exception_ptr failure;
    for (const post_shard& each : shards) {
        if (!each.has_drain) continue;
        // Usually, the claim is granted in all shards but the last, and nothing else is to be done there. So
        // one drain is enough for a request whose lanes are idle.
        if (&each != &shards.back() && rests_after_sorting(*each.shard)) continue;
        try {
            is_accepted &= give_drain(*each.shard, order, each.claim);
        } catch (...) {
            failure = std::current_exception();
        }
    }
    posting.reset();
    for (std::uint32_t n = 0; waits != nullptr && n != count; ++n)
        if (waits[n].has_value()) waits[n]->run();
    if (failure != nullptr) std::rethrow_exception(failure);
    return is_accepted;
}

/// Moves the tasks of the inbox to their lanes. Called by a thread that owns the drain. Returns true if
/// nothing is to be run, so that the shard needs no drain.
bool lanes_state::rests_after_sorting(lane_shard& s) noexcept {
    lock guard(s.lock);
    const bool rests = !keep_drain(s, true) || EKIDEN_MUTANT(lanes_rest_beside_a_ready_lane);
    unlock(guard, s);
    return rests;
}

/// Pushes the claims of a request to the inboxes of its shards.
void lanes_state::push_unbounded(lane_request& given, short_list<post_shard>& shards) noexcept {
    if (given.claims == 1) { // one push needs no order
        lane_shard& only = *shards.back().shard;
        if (in_order(only, [&] { return only.inbox.push(&given.claim(0)); })) shards.back().has_drain = true;
        return;
    }
    // [LN2] Relaxed is enough, as the page execution/detail/strand.md explains.
    if (!has_several_.load(sys::relaxed)) has_several_.store(true, sys::relaxed);
    for (const post_shard& each : shards)
        if (!EKIDEN_MUTANT(lanes_request_without_order)) each.shard->order.lock();
    post_shard* here = shards.begin();
    const std::uint32_t count = given.claims; // after the last push, the request may be gone
    for (std::uint32_t n = 0; n != count; ++n) {
        lane_claim& c = given.claim(n);
        if (here->shard != c.shard) ++here;
        if (here->shard->inbox.push(&c)) here->has_drain = true;
    }
    for (const post_shard& each : shards) each.shard->order.unlock();
}

/// Adds the claims of a request to their lanes, if the lanes have a capacity. Returns std::nullopt if it has
/// added them. Otherwise returns the result of the post. Throws std::bad_alloc. A call that throws has no
/// effect.
std::optional<bool> lanes_state::push_bounded(lane_request& given, short_list<post_shard>& shards,
                                              std::optional<post_wait>* waits, task_order order) {
    for (const post_shard& each : shards) each.shard->lock.lock();
    std::optional<bool> answer;
    std::exception_ptr failure;
    // Finds all lanes first, because a post that is refused must not wait for room in another lane.
    for (std::uint32_t n = 0; n != given.claims && !answer && failure == nullptr; ++n) {
        lane_claim& c = given.claim(n);
        lane_shard& s = *c.shard;
        c.where = lane_of(s, c);
        if (c.where == nullptr) {
            failure = std::exchange(s.left.failure, nullptr);
        } else if (c.where->is_closed.load(sys::relaxed) && !EKIDEN_MUTANT(lanes_wait_before_refusal)) {
            ++s.rejected;
            answer = false;
        }
    }
    std::uint32_t entered = 0; // the number of claims for which there is room
    while (entered != given.claims && !answer && failure == nullptr) {
        lane_claim& c = given.claim(entered);
        answer = find_room(*c.shard, *c.where, c, order, waits[entered]);
        if (!answer) ++entered;
    }
    const bool is_in = entered == given.claims;
    if (is_in) {
        for (std::uint32_t n = 0; n != entered; ++n) {
            lane_claim& c = given.claim(n);
            append(*c.shard, *c.where, &c);
            settle(*c.shard, *c.where);
        }
    } else {
        for (std::uint32_t n = 0; n != given.claims; ++n) {
            lane_claim& c = given.claim(n);
            if (n < entered) room_.leave(c, c.shard->left.released);
            if (c.where != nullptr && c.where->is_unused()) erase(*c.shard, *c.where);
        }
    }
    for (post_shard& each : shards) {
        lane_shard& s = *each.shard;
        each.has_drain = is_in && !s.ready.empty() && s.inbox.try_begin();
        each.has_leftovers = !s.left.empty();
    }
    for (const post_shard& each : shards) each.shard->lock.unlock();
    // The leftovers may call any function, so this thread must own no lock of another shard.
    for (const post_shard& each : shards) {
        if (!each.has_leftovers) continue;
        lock guard(each.shard->lock);
        unlock(guard, *each.shard);
    }
    if (failure != nullptr) std::rethrow_exception(failure);
    return answer;
}

// ---- grants

/// Gives the lane to the request of a claim, until the request ends. If this is the last grant that the
/// request needs, adds the request to `ready`.
void lanes_state::grant(lane& here, lane_claim& given, ready_list& ready) noexcept {
    if (given.is_shared)
        ++here.readers;
    else
        here.is_held = true;
    given.is_granted = true;
    // [LN3] acq_rel. Release: publishes what the earlier functions of this lane have done. Acquire: the
    // thread of the last grant sees what was done in all lanes of the request.
    if (given.request->pending.fetch_sub(1, sys::acq_rel) == 1) ready.push(*given.request);
}

const char* lane_claim::answer(task* self, task_request asked) {
    if (asked == task_request::describe) return type_description<lane_request>();
    auto& dropped = *static_cast<lane_claim*>(self); // a claim is never run
    lane_request& of = *dropped.request;
    if (dropped.has_canceled) lanes_state::drop_function(of);
    // [LN3] acq_rel, like the grant of a claim.
    if (of.pending.fetch_sub(1, sys::acq_rel) == 1) lanes_state::end_dropped(of);
    return nullptr;
}

// ---- the run of a request, and its end

/// The shard whose lanes the thread runs. The requests that become ready when a request ends are added to the
/// list of this shard, because the thread continues with this shard. So a chain of requests needs no further
/// drain.
struct lanes_state::home_shard {
    const lane_shard* shard;
    ready_list requests;
    bool& has_drain; // true if the thread owns the drain
};

/// Runs a request that has all its lanes. Releases the lock meanwhile.
void lanes_state::run_request(lock& guard, lane_shard& s, lane_request& given, bool& has_drain) {
    bool keeps_lanes = false;
    const bool gives_drain = keep_drain(s, std::exchange(has_drain, false));
    unlock(guard, s);
    if (gives_drain) has_drain = !passes_on(s, task_order::last);
    const auto end = [&] {
        home_shard home{&s, {}, has_drain};
        if (!keeps_lanes) { // otherwise the request may have ended
            release_lanes(given, &home);
            given.end();
        }
        guard.lock();
        s.ready.append(home.requests);
    };
    try {
        if (!given.is_canceled.load(sys::relaxed) || EKIDEN_MUTANT(lanes_run_a_canceled_request)) {
            const bool is_lost = is_closed(given) && !EKIDEN_MUTANT(lanes_run_a_closed_request);
            given.is_lost = is_lost;
            given.has_run.write(!is_lost);
        }
        if (!given.has_run.read()) {
            given.drop();
        } else {
            note_delay(given);
            if (given.is_turn)
                keeps_lanes = given.run() && !EKIDEN_MUTANT(lanes_end_a_turn_at_its_beginning);
            else
                run_within(given, 0);
        }
    } catch (...) {
        end();
        throw;
    }
    end();
}

/// Records how long the request has waited, if this is measured.
void lanes_state::note_delay(lane_request& given) noexcept {
    if (given.when == 0) [[likely]]
        return;
    how_.note_delay(*this, *given.claim(0).where, (std::uint64_t{time() - given.when} << 10) + 1);
}

/// Returns whether a lane of the request has been closed.
bool lanes_state::is_closed(lane_request& given) noexcept {
    for (std::uint32_t n = 0; n != given.claims; ++n) {
        // Relaxed is enough, as in run_batch().
        if (given.claim(n).where->is_closed.load(sys::relaxed)) return true;
    }
    return false;
}

/// Calls the function inside the lanes of the claims from number `n` on.
void lanes_state::run_within(lane_request& given, std::uint32_t n) {
    if (n == given.claims) {
        const trace::detail::interval turn(trace::kind::turn, "lanes", given.claim(0).where->hash);
        return static_cast<void>(given.run());
    }
    const lane_claim& c = given.claim(n);
    const serial_scope inside(scope_of(*c.where, c.is_shared));
    run_within(given, n + 1);
}

/// Destroys the function of a request.
void lanes_state::drop_function(lane_request& of) noexcept {
    const dropped_requests_hidden outside;
    of.drop();
}

/// Ends a request whose function has been dropped. If the inner context accepts no more tasks, the end of a
/// request drops the requests that wait for its lanes. These requests may be a long chain, so a loop ends
/// them, and not a recursion.
void lanes_state::end_dropped(lane_request& dropped) noexcept {
    auto& here = sys::local<dropped_requests>();
    dropped.claim(0).shard->all->add_handle();
    dropped.next_ready = std::exchange(here.first, &dropped);
    if (std::exchange(here.has_owner, true)) return;
    while (here.first != nullptr) {
        lane_request& next = *here.first;
        here.first = static_cast<lane_request*>(next.next_ready);
        lanes_state& all = *next.claim(0).shard->all;
        if (!EKIDEN_MUTANT(lanes_keep_lanes_of_a_dropped_request)) all.release_lanes(next, nullptr);
        const dropped_requests_hidden outside; // keys are destroyed
        next.end();
        all.drop_handle();
    }
    here.has_owner = false;
}

void lanes_state::end_turn(lane_request& ended) noexcept {
    turns_.fetch_sub(1, sys::relaxed);
    {
        const post_scope ending(inner_, post_scope::why::due); // functions behind the turn may become ready
        release_lanes(ended, nullptr);
    }
    how_.work_finished(*this);
}

/// Gives the lanes of a request to the next tasks and claims. `home` is null if the thread runs the lanes of
/// no shard. Then the requests that become ready are added to the lists of their shards.
void lanes_state::release_lanes(lane_request& ended, home_shard* home) noexcept {
    for (std::uint32_t n = 0; n != ended.claims;) {
        lane_shard& s = *ended.claim(n).shard;
        lock guard(s.lock);
        if (n == 0) { // before a lane becomes idle, so that a thread that waits for this finds the counts
            s.run += ended.has_run.read() ? 1U : 0U;
            s.dropped += ended.is_lost ? 1U : 0U;
        }
        for (; n != ended.claims && ended.claim(n).shard == &s; ++n)
            release(s, ended.claim(n), home != nullptr ? home->requests : s.ready);
        const bool has_drain =
            !EKIDEN_MUTANT(lanes_release_without_drain) && !s.ready.empty() && s.inbox.try_begin();
        unlock(guard, s);
        if (has_drain && home != nullptr && &s == home->shard)
            home->has_drain = true; // this thread continues with the shard
        else if (has_drain)
            (void)give_drain(s, task_order::usual, nullptr);
    }
}

/// Gives the lane of a claim to the next tasks and claims. Has no effect if the request does not have the
/// lane. Called under the lock of the shard.
void lanes_state::release(lane_shard& s, lane_claim& ended, ready_list& ready) noexcept {
    if (!ended.is_granted) return;
    ended.is_granted = false;
    lane& here = *ended.where;
    const bool must_sort = here.has_waiters || here.is_closed.load(sys::relaxed);
    if (must_sort && !EKIDEN_MUTANT(lanes_keep_late_posts)) [[unlikely]]
        sort_all(s); // as in end_batch()
    if (ended.is_shared)
        --here.readers;
    else
        here.is_held = false;
    if (must_sort && !here.is_in_use()) here.is_closed.store(false, sys::relaxed);
    if (!EKIDEN_MUTANT(lanes_release_in_silence)) settle(s, here, ready);
}

/// Releases the lanes that the request already has. The other claims are not granted any more. A claim stays
/// in the queue of its lane until it is the first, because a queue has links in one direction only.
void lanes_state::withdraw(lane_request& gone) noexcept {
    const post_scope ending(inner_, post_scope::why::due); // functions behind the turn may become ready
    // While this call counts as a claim, the request does not become ready. If the request is ready already,
    // the thread that runs it ends it. Relaxed is enough, because the increment publishes nothing.
    std::uint32_t before = gone.pending.load(sys::relaxed);
    const std::uint32_t own = EKIDEN_MUTANT(lanes_withdraw_is_no_claim) ? 0 : 1;
    do
        if (before == 0) return;
    while (!gone.pending.compare_exchange_weak(before, before + own, sys::relaxed, sys::relaxed));
    // Relaxed is enough, as in lane_claim::cancel().
    const bool is_lost = !gone.is_canceled.exchange(true, sys::relaxed);
    for (std::uint32_t n = 0; n != gone.claims;) {
        lane_shard& s = *gone.claim(n).shard;
        lock guard(s.lock);
        if (n == 0) s.dropped += is_lost ? 1U : 0U;
        for (; n != gone.claims && gone.claim(n).shard == &s; ++n) withdraw(s, gone.claim(n));
        const bool has_drain =
            !EKIDEN_MUTANT(lanes_withdraw_without_drain) && !s.ready.empty() && s.inbox.try_begin();
        unlock(guard, s);
        if (has_drain) (void)give_drain(s, task_order::usual, nullptr);
    }
    // [LN3] Acquire: this thread sees what was done with the other claims. Needs no release, because the
    // caller owns the record [LN4].
    if (own != 0 && gone.pending.fetch_sub(1, sys::acquire) == 1) end_dropped(gone);
}

/// Withdraws one claim. Called under the lock of the shard.
void lanes_state::withdraw(lane_shard& s, lane_claim& gone) noexcept {
    gone.has_withdrawn = true;
    if (EKIDEN_MUTANT(lanes_withdraw_keeps_lanes)) return;
    if (gone.is_granted) return release(s, gone, s.ready);
    // The claim has been abandoned, or is in the inbox. A claim by handle knows its lane also in the inbox.
    // Then settle() has no effect.
    if (gone.where == nullptr) return;
    if (is_bounded_ && !EKIDEN_MUTANT(lanes_withdraw_keeps_room)) {
        --gone.where->waiting;
        task_left(s, *gone.where, gone);
    }
    if (!EKIDEN_MUTANT(lanes_withdraw_in_silence)) settle(s, *gone.where);
}

} // namespace ekiden::inline EKIDEN_ABI
