// Adds tasks to lanes, directly or from the inbox. Gives the drain to the inner executor, and handles
// refusals.
#include <ekiden/context/serial_scope.hpp>
#include <ekiden/context/thread_context.hpp>
#include <ekiden/execution/detail/post_scope.hpp>
#include <ekiden/execution/detail/task_offer.hpp>
#include <ekiden/lanes/detail/dropped_requests.hpp>
#include <ekiden/lanes/detail/lanes_state.hpp>
#include <ekiden/lanes/detail/post_wait.hpp>
#include <ekiden/observe/trace.hpp>
#include <ekiden/sys/mutant.hpp>
#include <ekiden/sys/thread.hpp>

#include <exception>
#include <new>
#include <optional>
#include <utility>

namespace ekiden::inline EKIDEN_ABI {

// ---- posts

bool lanes_state::enqueue(lane_shard& s, keyed_task* given, task_order order) {
    if (is_measured()) given->when = time();
    if (is_bounded_) return push(s, given, order);
    trace::detail::moment(trace::kind::queued, given);
    // A task of the inner context may make the inbox busy, so one push is enough.
    if (role_scope::find(inner_.id()) == nullptr && !inner_.is_closing()
        && in_order(s, [&] { return s.inbox.push_if_busy(given); }))
        return true;
    {
        const post_scope posting(inner_);
        if (!posting.is_refused())
            return !in_order(s, [&] { return s.inbox.push(given); }) || give_drain(s, order, given);
    }
    given->abandon();
    return false;
}

namespace {

/// The state of the random numbers of a thread. Two threads may have the same numbers.
struct post_random {
    std::uint64_t last;
};

} // namespace

/// Returns whether the delay of the next task is measured. Chooses at random, because the posts of a program
/// may follow a regular pattern.
bool lanes_state::is_measured() const noexcept {
    if (measured_below_ == 0) return false;
    std::uint64_t& random = sys::local<post_random>().last; // thread-local, to avoid contention
    random = random * 6364136223846793005U + 1442695040888963407U;
    return random >> 32 < measured_below_;
}

/// Adds a task to its lane. Used if a capacity is set.
bool lanes_state::push(lane_shard& s, keyed_task* given, task_order order) {
    if (thread_record::here().entered != nullptr) order = task_order::immediate; // must not wait
    std::optional<post_scope> posting;
    lock guard(s.lock);
    // Without the lock, no other thread can make the inbox idle.
    if (s.inbox.is_idle() || inner_.is_closing()) posting.emplace(inner_);
    if (posting && posting->is_refused()) {
        guard.unlock();
        given->abandon();
        return false;
    }
    lane* const found = lane_of(s, *given);
    if (found == nullptr) {
        const std::exception_ptr failure = std::exchange(s.left.failure, nullptr);
        guard.unlock();
        given->abandon();
        std::rethrow_exception(failure);
    }
    lane& here = *found;
    std::optional<post_wait> wait;
    if (const auto answer = find_room(s, here, *given, order, wait))
        return turn_away(guard, s, here, given), *answer;

    trace::detail::moment(trace::kind::queued, given);
    append(s, here, given);
    settle(s, here);
    const bool needs_drain = !s.ready.empty() && s.inbox.try_begin();
    if (!wait && !needs_drain) {
        unlock(guard, s);
        return true;
    }
    add_handle(); // the task may drop the last handle before this call returns
    unlock(guard, s);
    bool is_accepted = false;
    try {
        is_accepted = !needs_drain || give_drain(s, order, given);
    } catch (...) { // the task has been abandoned, but a waiter may still be in a list
        posting.reset();
        if (wait) wait->run();
        drop_handle();
        throw;
    }
    posting.reset();
    if (wait) wait->run();
    drop_handle();
    return is_accepted;
}

/// Finds room for a task or claim in its lane. Returns std::nullopt if the task is added to the lane.
/// Otherwise returns the result of the post. If the post must wait afterwards, creates `wait`.
std::optional<bool> lanes_state::find_room(lane_shard& s, lane& here, const task& given, task_order order,
                                           std::optional<post_wait>& wait) {
    if (here.is_closed.load(sys::relaxed)) {
        ++s.rejected;
        return false;
    }
    if ((lane_capacity_ == 0 || here.waiting < lane_capacity_) && room_.try_enter()) return std::nullopt;
    return without_room(s, here, given, order, wait);
}

/// Returns false if the lane may get room only after the post has returned.
bool lanes_state::may_wait_for_room(task_order order) const noexcept {
    if (order == task_order::immediate || thread_record::here().is_resuming) return false;
    if (serial_scope::is_beneath(this)) return false;
    // Only a worker runs the lanes while it waits. Another thread that the inner context needs does not.
    thread_role* const role = role_scope::find(inner_.id());
    if (role != nullptr && role->as_worker() == nullptr) return false;
    // The thread may run a coroutine that has a turn, also beneath the task that posts.
    return !thread_record::here().runs_coroutines || turns_.load(sys::relaxed) == 0;
}

/// Decides what happens to a task without room, like find_room().
std::optional<bool> lanes_state::without_room(lane_shard& s, lane& here, const task& given, task_order order,
                                              std::optional<post_wait>& wait) {
    switch (policy_) {
    case when_full::reject:
        ++s.rejected;
        return false;
    case when_full::drop_newest:
        ++s.dropped;
        return true;
    case when_full::drop_oldest:
        while (task* const oldest = here.tasks.take()) {
            s.left.tasks.push(oldest);
            if (lane_claim::is_withdrawn(*oldest) && !EKIDEN_MUTANT(lanes_drop_a_withdrawn_claim))
                continue; // its room has been given to other tasks
            s.dropped += lane_claim::cancel(*oldest) ? 1U : 0U;
            --here.waiting;
            return std::nullopt; // the new task gets the room of the oldest task
        }
        ++s.dropped;
        return true;
    case when_full::block:
        break;
    }
    bool may_wait = may_wait_for_room(order);
    try {
        if (may_wait) wait.emplace();
    } catch (const std::bad_alloc&) { // there is no memory for the wait
        may_wait = false;
    }
    if (!may_wait) {
        ++s.beyond;
        room_.enter(nullptr);
        return std::nullopt;
    }
    if (lane_capacity_ != 0 && here.waiting >= lane_capacity_) {
        wait->for_lane = here.has_waiters = true;
        wait->in_lane.where = &here;
        wait->in_lane.queued = &given;
        s.waiters.push(wait->in_lane);
    }
    wait->in_all.queued = &given;
    wait->for_all = room_.enter(&wait->in_all);
    return std::nullopt;
}

/// Releases the lock, and abandons a task that is not added to its lane. Erases the lane if it is unused.
void lanes_state::turn_away(lock& guard, lane_shard& s, lane& here, keyed_task* given) noexcept {
    if (here.is_unused()) erase(s, here);
    s.left.tasks.push(given);
    unlock(guard, s);
}

void lanes_state::append(lane_shard& s, lane& here, keyed_task* given) noexcept {
    if (std::exchange(here.is_resting, false)) --s.resting;
    here.tasks.push(given);
    ++here.waiting;
    lane_claim* const claim = lane_claim::of(*given);
    if (claim != nullptr) claim->where = &here;
    if (claim == nullptr || claim->is_first()) ++s.posted; // counts a request once
}

// ---- the inbox

namespace {

/// Returns the lane of a task that was posted by handle.
lane* known_lane_of(keyed_task& given) noexcept {
    const lane_claim* const claim = lane_claim::of(given);
    return claim != nullptr ? claim->where : static_cast<lane_task&>(given).where;
}

/// A mark in an inbox. All tasks in front of the mark were pushed earlier.
struct marker final : task {
    marker() noexcept : task(&answer) {}
    static const char* answer(task*, task_request) { return nullptr; }
};

/// sort() moves at most as many tasks as a batch runs. So sorted tasks run soon, while they are in the cache,
/// and the lock is held only briefly.
constexpr std::uint32_t most_sorted = batch_limit::most_tasks;

} // namespace

/// Moves tasks from the inbox to their lanes. Returns false if tasks are left in the inbox. In this case,
/// `is_stalled` is true if the next task cannot be moved before a push has completed.
bool lanes_state::sort(lane_shard& s) noexcept {
    s.is_stalled = false;
    keyed_task* last = nullptr; // given to its lane one step later, when the lane is in the cache
    for (std::uint32_t n = 0;; ++n) {
        auto* const found = n != most_sorted ? static_cast<keyed_task*>(s.inbox.take()) : nullptr;
        if (found != nullptr && found->has_lane != 0) sys::prefetch_to_write(known_lane_of(*found));
        if (last != nullptr) give_to_lane(s, *last);
        if (found == nullptr) {
            if (n == most_sorted) return false;
            s.is_stalled = !s.inbox.is_drained() && !s.inbox.is_idle();
            return !s.is_stalled;
        }
        last = found;
    }
}

void lanes_state::sort_all(lane_shard& s) noexcept {
    if (sort(s)) return;
    // The inbox is not empty, so another thread owns the drain. That thread cannot make the inbox idle
    // without the lock.
    marker last;
    (void)s.inbox.push(&last);
    for (;;) {
        task* const found = s.inbox.take();
        if (found == &last) return;
        if (found == nullptr)
            sys::yield(); // a push is in progress
        else
            give_to_lane(s, static_cast<keyed_task&>(*found));
    }
}

/// Returns the lane of a task, like operations::lane_of().
lane* lanes_state::lane_of(lane_shard& s, keyed_task& given) noexcept {
    return given.has_lane != 0 ? known_lane_of(given) : how_.lane_of(s, given);
}

void lanes_state::give_to_lane(lane_shard& s, keyed_task& given) noexcept {
    lane* const here = lane_of(s, given);
    if (here == nullptr
        || (here->is_closed.load(sys::relaxed)
            && (!stays_at_close(given) || EKIDEN_MUTANT(lanes_closed_lane_refuses_an_operation))))
        [[unlikely]] {
        const std::uint32_t lost = lane_claim::cancel(given) ? 1 : 0;
        s.dropped += lost;
        if (here == nullptr) s.left.failures += lost;
        s.left.tasks.push(&given);
        return;
    }
    append(s, *here, &given);
    settle(s, *here);
}

// ---- the drain comes to the inner executor

/// Gives the drain of this thread, with one use of the shard, to the inner executor. If the executor refuses
/// the drain, all waiting tasks are abandoned. Then returns false if `given` was among these tasks, and true
/// if another thread has run `given`. Throws whatever the inner executor throws. If it throws, this thread
/// still owns the drain and the use.
bool lanes_state::offer(lane_shard& s, task_order order, const task* given) {
    add_use(s);
    const task_offer mine(s);
    try {
        const dropped_requests_hidden outside; // an executor may run functions inside this call
        (void)how_.schedule(*this, &s, order);
        if (!mine.came_back()) return true;
    } catch (...) {
        if (!mine.came_back() || EKIDEN_MUTANT(lanes_forget_what_came_back))
            return true; // the executor has accepted the drain before it threw
        throw;
    }
    return !abandon_ready(s, given, false);
}

/// Offers the drain to the inner executor. Only for a thread that can also run the lanes. Returns false if
/// the inner executor throws. Then the thread still owns the drain.
bool lanes_state::passes_on(lane_shard& s, task_order order) noexcept {
    try {
        (void)offer(s, order, nullptr);
        return true;
    } catch (...) {
        drop_use(s); // not the last use, because the thread has another one
        return false;
    }
}

/// Offers the drain to the inner executor. For a thread that cannot run the lanes. If the inner executor
/// throws, all waiting tasks are abandoned, and an exception is reported for each task of another post.
/// Throws only if `given` was among the abandoned tasks.
bool lanes_state::give_drain(lane_shard& s, task_order order, const task* given) {
    try {
        return offer(s, order, given);
    } catch (...) {
        if (!abandon_ready(s, given, true)) return true;
        throw;
    }
}

/// Consumes the drain and a use of the shard. Abandons all tasks that are in ready lanes or in the inbox.
/// Returns whether the call has abandoned the function of `given`. If `reports` is true, counts all other
/// tasks as dropped, and reports the current exception for each of them.
bool lanes_state::abandon_ready(lane_shard& s, const task* given, bool reports) noexcept {
    bool is_given_lost = false;
    {
        lock guard(s.lock);
        task_list abandoned;
        // If `given` is a claim, another claim may have abandoned the function before.
        const auto has_given = [given](const task_list& in) {
            if (given == nullptr || !in.contains(given)) return false;
            const lane_claim* const claim = lane_claim::of(*given);
            return claim == nullptr || claim->has_canceled;
        };
        std::uint32_t lost = 0;       // the number of abandoned functions, without the function of `given`
        std::uint32_t given_lost = 0; // 1 if the function of `given` is abandoned here
        while (keep_drain(s, true)) {
            if (s.ready.empty()) sys::yield(); // a push is in progress
            while (!s.ready.empty()) {
                runnable& first = s.ready.pop();
                if (first.is_request) {
                    auto& ended = static_cast<lane_request&>(first);
                    const bool is_given = given != nullptr && ended.has(given);
                    if (!ended.is_canceled.exchange(true, sys::relaxed)) ++(is_given ? given_lost : lost);
                    ended.next_ready = std::exchange(s.left.requests, &ended);
                } else {
                    auto& here = static_cast<lane&>(first);
                    lost += drop_all(s, here, abandoned);
                    erase(s, here);
                }
            }
        }
        if (has_given(abandoned)) {
            given_lost = 1;
            --lost;
        }
        if (reports) {
            s.dropped += lost;
            s.posted -= given_lost;
            s.left.failures += lost;
            s.left.failure = std::current_exception();
        }
        is_given_lost = given_lost != 0 || has_given(s.left.tasks);
        s.left.tasks.append(std::move(abandoned));
        unlock(guard, s);
    }
    drop_use(s);
    return is_given_lost;
}

namespace {

[[nodiscard]] bool has_requests(const task_list& in) noexcept {
    const task* t = in.oldest();
    while (t != nullptr && lane_claim::of(*t) == nullptr) t = t->next.load(sys::relaxed);
    return t != nullptr;
}

} // namespace

/// Releases the lock. Then abandons, completes or destroys the leftovers, because tasks and keys may call any
/// function.
void lanes_state::end_leftovers(lock& guard, lane_shard& s) noexcept {
    lanes_state& all = *s.all;
    // The end of a request makes functions ready that wait behind it. Until this thread unlocks, the drain of
    // the shard cannot rest, so the inner context cannot have ended yet.
    std::optional<post_scope> ending;
    if (has_requests(s.left.tasks) || s.left.requests != nullptr)
        ending.emplace(all.inner_, post_scope::why::due);
    all.add_handle(); // a key or a task may own the last handle
    lane_shard::leftovers left = std::exchange(s.left, {});
    guard.unlock();
    for (; left.failures != 0; --left.failures) {
        try {
            std::rethrow_exception(left.failure);
        } catch (...) {
            const dropped_requests_hidden outside;
            all.how_.report(all);
        }
    }
    while (task* const dropped = left.tasks.take()) {
        if (lane_claim::of(*dropped) != nullptr) { // may be a part of a long chain; see end_dropped()
            dropped->abandon();
        } else {
            const dropped_requests_hidden outside;
            dropped->abandon();
        }
    }
    while (left.requests != nullptr) {
        lane_request& ended = *left.requests;
        left.requests = static_cast<lane_request*>(ended.next_ready);
        drop_function(ended);
        end_dropped(ended);
    }
    ending.reset();
    const dropped_requests_hidden outside;
    while (left.gone != nullptr) all.how_.end_lane(*std::exchange(left.gone, left.gone->chain));
    left.released.complete(); // last, so that waiters find abandoned tasks and keys destroyed
    all.drop_handle();
}

} // namespace ekiden::inline EKIDEN_ABI
