// How tasks come into lanes: by a post, or from the inbox. How the drain comes to the inner executor, and
// what happens if that refuses it.
#include <ekiden/context/serial_scope.hpp>
#include <ekiden/execution/detail/task_offer.hpp>
#include <ekiden/lanes/detail/lanes_state.hpp>
#include <ekiden/observe/trace.hpp>
#include <ekiden/sys/mutant.hpp>
#include <ekiden/sys/thread.hpp>

#include <exception>
#include <optional>
#include <utility>

namespace ekiden::inline EKIDEN_ABI {

// ---- posts

bool lanes_state::enqueue(lane_shard& s, keyed_task* given, task_order order) {
    if (is_measured()) given->when = time();
    if (is_bounded_) return push(s, given, order);
    trace::detail::moment(trace::kind::queued, given);
    // True means that no other thread has the drain.
    return !s.inbox.push(given) || give_drain(s, order, given);
}

namespace {

/// The state of a thread's random numbers. They need not differ between threads.
struct post_random {
    std::uint64_t last;
};

} // namespace

/// Returns whether the delay of the next task is measured. Chooses at random, because the posts of a program
/// may have a rhythm.
bool lanes_state::is_measured() const noexcept {
    if (measured_below_ == 0) return false;
    std::uint64_t& random = sys::local<post_random>().last; // a word of the shard would be contended
    random = random * 6364136223846793005U + 1442695040888963407U;
    return random >> 32 < measured_below_;
}

/// How a post waits, for room in its lane and in all lanes.
struct lanes_state::post_wait {
    lane_waiter in_lane;
    lane_waiter in_all;
    bool for_lane = false; // the waiter is in a list
    bool for_all = false;

    void run() {
        if (for_lane) in_lane.is_done.get();
        if (for_all) in_all.is_done.get();
    }
};

/// Puts a task into its lane, if a capacity is set.
bool lanes_state::push(lane_shard& s, keyed_task* given, task_order order) {
    lock guard(s.lock);
    lane* const found = how_.lane_of(s, *given);
    if (found == nullptr) {
        const std::exception_ptr failure = std::exchange(s.left.failure, nullptr);
        guard.unlock();
        given->abandon();
        std::rethrow_exception(failure);
    }
    lane& here = *found;
    std::optional<post_wait> wait;
    std::optional<bool> answer; // if the task does not enter the lane
    if (here.is_closed.load(sys::relaxed)) {
        ++s.rejected;
        answer = false;
    } else if ((lane_capacity_ != 0 && here.waiting >= lane_capacity_) || !room_.try_enter()) {
        try {
            answer = without_room(s, here, order, wait);
        } catch (...) { // no memory to wait
            turn_away(guard, s, here, given);
            throw;
        }
    }
    if (answer) return turn_away(guard, s, here, given), *answer;

    trace::detail::moment(trace::kind::queued, given);
    append(s, here, given);
    const bool needs_drain = make_ready(s, here) && s.inbox.try_begin();
    if (!wait) {
        unlock(guard, s);
        return !needs_drain || give_drain(s, order, given);
    }
    add_handle(); // the task may drop the last one while this thread waits
    unlock(guard, s);
    bool is_accepted = false;
    try {
        is_accepted = !needs_drain || give_drain(s, order, given);
    } catch (...) { // the task has been abandoned, but a waiter may still be in a list
        wait->run();
        drop_handle();
        throw;
    }
    wait->run();
    drop_handle();
    return is_accepted;
}

/// Decides about a task without room. Returns nothing if the task enters the lane. Otherwise returns the
/// result of the post.
std::optional<bool> lanes_state::without_room(lane_shard& s, lane& here, task_order order,
                                              std::optional<post_wait>& wait) {
    switch (policy_) {
    case when_full::reject:
        ++s.rejected;
        return false;
    case when_full::drop_newest:
        ++s.dropped;
        return true;
    case when_full::drop_oldest:
        ++s.dropped;
        if (here.tasks.empty()) return true;
        s.left.tasks.push(here.tasks.pop()); // the new task gets its room
        --here.waiting;
        return std::nullopt;
    case when_full::block:
        break;
    }
    if (order == task_order::immediate || serial_scope::is_beneath(this)) {
        ++s.beyond;
        room_.enter(nullptr);
        return std::nullopt;
    }
    wait.emplace();
    if (lane_capacity_ != 0 && here.waiting >= lane_capacity_) {
        wait->for_lane = here.has_waiters = true;
        wait->in_lane.where = &here;
        wait->in_lane.ahead = static_cast<std::uint32_t>(here.waiting + 1 - lane_capacity_);
        s.waiters.push(wait->in_lane);
    }
    wait->for_all = room_.enter(&wait->in_all);
    return std::nullopt;
}

/// A task does not enter its lane. Releases the lock, and abandons the task.
void lanes_state::turn_away(lock& guard, lane_shard& s, lane& here, keyed_task* given) noexcept {
    if (here.is_unused()) erase(s, here);
    s.left.tasks.push(given);
    unlock(guard, s);
}

void lanes_state::append(lane_shard& s, lane& here, keyed_task* given) noexcept {
    here.tasks.push(given);
    ++here.waiting;
    ++s.posted;
}

/// Lists the lane as ready. Returns false if it was ready, or is running.
bool lanes_state::make_ready(lane_shard& s, lane& here) noexcept {
    if (here.is_ready || here.is_running) return false;
    here.is_ready = true;
    here.next_ready = nullptr;
    (s.first_ready == nullptr ? s.first_ready : s.last_ready->next_ready) = &here;
    s.last_ready = &here;
    return true;
}

// ---- the inbox

namespace {

/// Goes through an inbox behind the tasks that were pushed before.
struct marker final : task {
    marker() noexcept : task(&answer) {}
    static const char* answer(task*, task_request) { return nullptr; }
};

/// As many as a batch runs. So sorted tasks run soon, while they are in the cache, and the lock is held
/// briefly.
constexpr std::uint32_t most_sorted = batch_limit::most_tasks;

} // namespace

/// Moves tasks from the inbox to their lanes. Returns false if some are left, or if a push is in progress.
bool lanes_state::sort(lane_shard& s) noexcept {
    for (std::uint32_t n = 0; n != most_sorted; ++n) {
        task* const found = s.inbox.take();
        if (found == nullptr) return s.inbox.is_drained() || s.inbox.is_idle();
        give_to_lane(s, static_cast<keyed_task&>(*found));
    }
    return false;
}

void lanes_state::sort_all(lane_shard& s) noexcept {
    if (sort(s)) return;
    // Another thread has the drain, since the inbox is not empty. It does not rest without the lock.
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

void lanes_state::give_to_lane(lane_shard& s, keyed_task& given) noexcept {
    lane* const here = how_.lane_of(s, given);
    if (here == nullptr || here->is_closed.load(sys::relaxed)) [[unlikely]] {
        ++s.dropped;
        if (here == nullptr) ++s.left.failures;
        s.left.tasks.push(&given);
        return;
    }
    append(s, *here, &given);
    (void)make_ready(s, *here);
}

// ---- the drain comes to the inner executor

/// Gives the drain, which this thread has, to the inner executor, with a handle. Returns false if the
/// executor refuses it. Then all waiting tasks have been abandoned, and `given` was among them. (If `given`
/// was not, another thread has run it, and this returns true.) Throws what the inner executor throws. Then
/// this thread still has the drain and the handle.
bool lanes_state::offer(lane_shard& s, task_order order, const task* given) {
    add_handle();
    const task_offer mine(s);
    try {
        (void)how_.schedule(*this, &s, order);
        if (!mine.came_back()) return true;
    } catch (...) {
        if (!mine.came_back() || EKIDEN_MUTANT(lanes_forget_what_came_back))
            return true; // the executor has the drain in spite of the exception
        throw;
    }
    return !abandon_ready(s, given, false);
}

/// Offers the drain for a thread that can run the lanes itself. Returns false if the inner executor throws.
/// Then the thread still has the drain.
bool lanes_state::passes_on(lane_shard& s, task_order order) noexcept {
    try {
        (void)offer(s, order, nullptr);
        return true;
    } catch (...) {
        drop_handle(); // not the last one: the thread has its own
        return false;
    }
}

/// Offers the drain for a thread that cannot run the lanes itself. If the inner executor throws, all waiting
/// tasks are abandoned, and those of other posts are reported. Throws only if `given` was among them.
bool lanes_state::give_drain(lane_shard& s, task_order order, const task* given) {
    try {
        return offer(s, order, given);
    } catch (...) {
        if (!abandon_ready(s, given, true)) return true;
        throw;
    }
}

/// Consumes the drain and a handle. Abandons all tasks that are ready or in the inbox. Returns whether
/// `given` was among them. If `reports` is true, all other tasks count as dropped, and are reported with the
/// exception that is being handled.
bool lanes_state::abandon_ready(lane_shard& s, const task* given, bool reports) noexcept {
    bool has_given = false;
    {
        lock guard(s.lock);
        task_ring abandoned;
        std::uint32_t count = 0;
        while (keep_drain(s, true)) {
            if (s.first_ready == nullptr) sys::yield(); // a push is in progress
            while (s.first_ready != nullptr) {
                lane& here = *std::exchange(s.first_ready, s.first_ready->next_ready);
                count += drop_all(s, here, abandoned);
                erase(s, here);
            }
        }
        has_given = given != nullptr && abandoned.contains(given);
        if (reports) {
            const std::uint32_t lost = count - (has_given ? 1U : 0U);
            s.dropped += lost;
            s.posted -= count - lost;
            s.left.failures += lost;
            s.left.failure = std::current_exception();
        }
        has_given = has_given || (given != nullptr && s.left.tasks.contains(given));
        s.left.tasks.append(abandoned);
        unlock(guard, s);
    }
    drop_handle();
    return has_given;
}

/// Releases the lock, and ends what is left: tasks and keys may call anything.
void lanes_state::end_leftovers(lock& guard, lane_shard& s) noexcept {
    lanes_state& all = *s.all;
    all.add_handle(); // a key or a task may have the last one
    lane_shard::leftovers left = std::exchange(s.left, {});
    guard.unlock();
    for (; left.failures != 0; --left.failures) {
        try {
            std::rethrow_exception(left.failure);
        } catch (...) {
            all.how_.report(all);
        }
    }
    left.tasks.abandon();
    while (left.gone != nullptr) all.how_.end_lane(*std::exchange(left.gone, left.gone->chain));
    left.released.complete(); // last: when a lane is idle, its abandoned tasks and its key are gone
    all.drop_handle();
}

} // namespace ekiden::inline EKIDEN_ABI
