#include <ekiden/lanes/detail/lanes_state.hpp>

#include <ekiden/context/serial_scope.hpp>
#include <ekiden/context/simulated.hpp>
#include <ekiden/execution/detail/run_task.hpp>
#include <ekiden/execution/detail/task_offer.hpp>
#include <ekiden/observe/trace.hpp>
#include <ekiden/sys/bad_argument.hpp>
#include <ekiden/sys/mutant.hpp>
#include <ekiden/sys/thread.hpp>
#include <ekiden/sys/topology.hpp>

#include <algorithm>
#include <bit>
#include <memory>
#include <string>
#include <system_error>
#include <utility>

namespace ekiden::inline EKIDEN_ABI {

// ---- construction and destruction

namespace {

constexpr unsigned most_shards = 4096;

std::size_t shard_count_of(const lanes_options& options) {
    if (options.shards > most_shards) {
        sys::refuse_argument("lanes", "shards", options.shards,
                             "0 (one per usable processor) to " + std::to_string(most_shards));
    }
    if (options.shards != 0) return std::bit_ceil(options.shards);
    if (simulation_here() != nullptr) return 4; // the same number of shards on every machine
    // With fewer shards than threads, threads that run lanes of one shard would delay each other. With more
    // shards than threads, the batches would be shorter.
    return std::bit_floor(std::min(sys::usable_concurrency(), most_shards));
}

} // namespace

lane_shard::lane_shard() : task(&lanes_state::answer_drain) {}

lanes_state::lanes_state(const lanes_options& chosen, const operations& how, const execution_context& inner)
    : how_(how), inner_(inner), lane_capacity_(chosen.lane_capacity),
      is_bounded_(chosen.lane_capacity != 0 || chosen.capacity != 0), policy_(chosen.policy),
      measured_below_(chosen.delay_sampling == 0 ? 0 : (std::uint64_t{1} << 32) / chosen.delay_sampling),
      shard_mask_(shard_count_of(chosen) - 1), shards_(std::make_unique<lane_shard[]>(shard_mask_ + 1)),
      room_(chosen.capacity) {
    for (std::size_t n = 0; n <= shard_mask_; ++n) shards_[n].all = this;
}

void lanes_state::throw_in_child(const char* operation) const {
    throw std::system_error(std::make_error_code(std::errc::operation_not_permitted),
                            std::string("ekiden: lanes::") + operation
                                + " in the child of fork(); these lanes belong to the parent");
}

/// Waits until no post accesses the lanes, or until there is another handle. Called by a thread that is about
/// to drop the last handle. A post has no handle. Its function may run and end before the post has unlocked
/// `order`, or before the post has added a use for the drain that it owns. Both follow soon.
void lanes_state::await_posts() noexcept {
    if (is_in_child() || EKIDEN_MUTANT(lanes_end_beside_a_post)) return; // the post may have vanished
    for (std::size_t n = 0; n <= shard_mask_; ++n) {
        lane_shard& s = shards_[n];
        // [LN2] Relaxed is enough, because the post that set the value has had a handle.
        if (has_several_.load(sys::relaxed)) const std::lock_guard wait(s.order);
        // If the inbox is not idle, a thread owns the drain. If this thread has no use yet, it is in a post.
        while (!s.inbox.is_idle() && handles_.load(sys::relaxed) == 1) sys::yield();
    }
}

// ---- the drain

const char* lanes_state::answer_drain(task* drain, task_request request) {
    if (request == task_request::describe) return type_description<lane_shard>();
    auto& s = *static_cast<lane_shard*>(drain);
    if (request == task_request::run)
        s.all->run_ready(s);
    else if (!task_offer::take_back(s))
        (void)s.all->abandon_ready(s, nullptr, false);
    return nullptr;
}

/// The tasks that a thread has dequeued from a lane and is about to run.
struct lanes_state::batch {
    task_list tasks;
    std::uint32_t left = 0; // the number of tasks in `tasks`
    std::uint32_t run = 0;
};

/// Runs lanes until the inner executor has accepted the drain again, or no drain is needed.
void lanes_state::run_ready(lane_shard& s) {
    lock guard(s.lock);
    if (stays_away(guard, s)) return drop_use(s);
    for (bool is_kept = false;; is_kept = true, guard.lock()) {
        bool has_drain = true;
        try {
            run_some(guard, s, has_drain, is_kept);
        } catch (...) {
            leave_for_good(guard, s, has_drain); // the thread may leave the context
            throw;
        }
        if (!leave(guard, s, has_drain) || passes_on(s, task_order::deferred)) return drop_use(s);
        // The inner executor cannot accept the drain now, so this thread continues.
        if (takes_no_more()) return static_cast<void>(abandon_ready(s, nullptr, false));
    }
}

/// If other threads run lanes of the shard, a drain leaves the shard to them, and is queued again. So each
/// thread usually stays with one shard, and tasks and lanes stay in its cache. But a function of these
/// threads may block. So the drain stays away only once for each of their batches. Returns true if the thread
/// has left the shard, and has released the lock.
bool lanes_state::stays_away(lock& guard, lane_shard& s) noexcept {
    if (s.threads == 0 || (std::exchange(s.is_avoided, true) && !EKIDEN_MUTANT(lanes_stay_away)))
        return false;
    const bool rests = s.ready.empty() && s.inbox.try_rest();
    unlock(guard, s);
    if (rests || passes_on(s, task_order::last)) return true;
    guard.lock();
    return false;
}

/// Runs ready lanes until the batch is full, no lane is ready, or the inner context is paused or stopped. If
/// `is_kept` is true, the inner executor has not accepted the drain. Then at least one task is run.
void lanes_state::run_some(lock& guard, lane_shard& s, bool& has_drain, bool is_kept) {
    batch_limit limit(s.tasks_are_long);
    simulated_thread* const simulation = simulation_here();
    const serial_scope inside(this);
    struct visit {
        lane_shard& here;
        ~visit() { --here.threads; }
    } const counted{s};
    ++s.threads;
    s.is_avoided = false;
    (void)sort(s); // even if a lane is ready, because other keys must not wait behind its tasks
    for (bool goes_on = true; goes_on;) {
        while (s.ready.empty() && !sort(s) && !s.is_stalled) {
            if (!s.ready.empty()) break;
            // Requests in other lanes must end before the sorted claims are granted. To release its lanes, a
            // request needs the lock.
            unlock(guard, s);
            guard.lock();
        }
        if (s.ready.empty()) break;
        // The tasks in lanes were posted before this check. If a task was posted after pause(), this thread
        // sees that the gate is paused.
        if (!std::exchange(is_kept, false) && !EKIDEN_MUTANT(lanes_forget_the_gate) && inner_.holds_tasks())
            break;
        if (simulation != nullptr) [[unlikely]]
            choose_first(s, *simulation);
        runnable& first = s.ready.pop();
        if (first.is_request) {
            run_request(guard, s, static_cast<lane_request&>(first), has_drain);
            goes_on = limit.goes_on() && !inner_.holds_tasks();
            continue;
        }
        auto& here = static_cast<lane&>(first);
        here.is_running = true;
        batch taken;
        begin_batch(s, here, taken);
        goes_on = run_taken(guard, s, here, taken, limit, has_drain);
    }
    s.tasks_are_long = limit.are_long();
}

/// Moves the ready lane or request that the simulation chooses to the front.
void lanes_state::choose_first(lane_shard& s, simulated_thread& simulation) noexcept {
    (void)sort(s); // so that each posted task can be chosen
    std::uint32_t ready = 0;
    for (const runnable* r = s.ready.first(); r != nullptr; r = r->next_ready) ++ready;
    const std::uint32_t chosen = simulation.choose_next(ready);
    if (chosen == 0) return; // it is at the front already
    runnable* before = s.ready.first();
    for (std::uint32_t n = 1; n != chosen; ++n) before = before->next_ready;
    s.ready.move_to_front(*before);
}

/// Ends the work of this thread for the shard. Releases the lock. Returns true if the thread owns the drain
/// and must give the drain to the inner executor.
bool lanes_state::leave(lock& guard, lane_shard& s, bool has_drain) noexcept {
    const bool needs_drain = !EKIDEN_MUTANT(lanes_forget_the_rest) && keep_drain(s, has_drain);
    const bool push_in_progress = s.ready.empty() && s.is_stalled;
    unlock(guard, s);
    if (needs_drain && push_in_progress) sys::yield(); // the pushing thread may need this processor
    return needs_drain;
}

/// Leaves the shard, and drops the use of the thread. The thread cannot run more lanes, even if the inner
/// executor throws.
void lanes_state::leave_for_good(lock& guard, lane_shard& s, bool has_drain) noexcept {
    if (leave(guard, s, has_drain)) (void)give_drain(s, task_order::last, nullptr);
    drop_use(s);
}

/// A thread calls keep_drain() before it releases the lock. If there is a task to run or to sort, some thread
/// must own the drain. Otherwise a lane could wait behind a function that blocks. Returns true if the calling
/// thread owns the drain and must give the drain to the inner executor.
bool lanes_state::keep_drain(lane_shard& s, bool has_drain) noexcept {
    if (!has_drain) return !s.ready.empty() && s.inbox.try_begin();
    while (s.ready.empty()) {
        if (s.inbox.try_rest()) return false;
        if (!sort(s)) break;
    }
    return true;
}

// ---- one lane

/// Dequeues the tasks that the thread is about to run. If no capacity is set, begin_batch() dequeues all
/// tasks of the lane. If a capacity is set, it dequeues only the oldest task, so that the number of waiting
/// tasks is exact.
void lanes_state::begin_batch(lane_shard& s, lane& here, batch& taken) noexcept {
    if (!is_bounded_) {
        taken.tasks = std::move(here.tasks);
        taken.left = here.readers = std::exchange(here.waiting, 0);
    } else if (!here.tasks.is_empty() && lane_claim::of(*here.tasks.oldest()) == nullptr) {
        task* const oldest = here.tasks.take();
        taken.tasks.push(oldest);
        taken.left = 1;
        --here.waiting;
        task_left(s, here, *oldest);
    }
}

/// Runs tasks of a lane that this thread has marked as running. Releases the lock while it runs them. Returns
/// false if the batch is full.
bool lanes_state::run_taken(lock& guard, lane_shard& s, lane& here, batch& taken, batch_limit& limit,
                            bool& has_drain) {
    // Gives the drain away, so that an idle thread can run other lanes meanwhile. The drain is queued behind
    // the tasks that wait in the context.
    const bool gives_drain = keep_drain(s, std::exchange(has_drain, false));
    unlock(guard, s);
    if (gives_drain) has_drain = !passes_on(s, task_order::last);
    const auto end = [&] {
        guard.lock();
        end_batch(guard, s, here, taken);
    };
    bool goes_on = false;
    try {
        goes_on = run_batch(here, taken, limit);
    } catch (...) {
        end();
        throw;
    }
    end();
    return goes_on;
}

bool lanes_state::run_batch(const lane& here, batch& taken, batch_limit& limit) {
    const serial_scope inside(scope_of(here, false));
    const trace::detail::interval turn(trace::kind::turn, "lane", here.hash);
    // A claim ends the batch, because end_batch() grants it.
    while (!taken.tasks.is_empty() && lane_claim::of(*taken.tasks.oldest()) == nullptr) {
        auto& next = static_cast<keyed_task&>(*taken.tasks.take());
        ++taken.run;
        --taken.left;
        if (next.when != 0) [[unlikely]]
            how_.note_delay(*this, here, (std::uint64_t{time() - next.when} << 10) + 1);
        run_task(next);
        if (!limit.goes_on() || inner_.holds_tasks()) return false;
        // Relaxed is enough, because end_batch() checks is_closed again under the lock.
        if (here.is_closed.load(sys::relaxed)) [[unlikely]]
            return true;
    }
    return true;
}

/// Marks the lane as not running. Then makes the lane ready again, or erases it if it has no tasks.
void lanes_state::end_batch(lock& guard, lane_shard& s, lane& here, batch& taken) noexcept {
    s.run += taken.run;
    if (here.is_closed.load(sys::relaxed)) [[unlikely]] {
        task_list staying = take_staying(taken.tasks, taken.left);
        s.dropped += drop(std::exchange(taken.tasks, std::move(staying)), s.left.tasks);
        unlock(guard, s); // abandons these tasks before the lane becomes idle
        guard.lock();
        sort_all(s); // abandons tasks that were posted before the function returned
        here.is_closed.store(false, sys::relaxed);
    } else if (here.has_waiters && !EKIDEN_MUTANT(lanes_idle_before_own_posts)) [[unlikely]] {
        sort_all(s); // a lane with tasks that its own functions have posted is not idle
    }
    taken.tasks.append(std::move(here.tasks)); // the taken tasks are older
    here.tasks = std::move(taken.tasks);
    here.waiting += taken.left;
    here.readers = 0;
    here.is_running = false;
    settle(s, here); // leave() ensures that the drain is queued
}

/// Called when a lane has got a task or a claim, or when a use of the lane has ended. Grants the claims at
/// the front of the lane, and adds the requests that are ready now to `requests`. If the lane is not in use
/// afterwards, makes the lane ready, or erases it if it has no tasks and no handles.
void lanes_state::settle(lane_shard& s, lane& here, ready_list& requests) noexcept {
    if (here.is_running || here.is_ready) return;
    while (!here.is_held && !here.tasks.is_empty()) {
        lane_claim* const next = lane_claim::of(*here.tasks.oldest());
        if (next == nullptr) break;
        const bool is_passed = next->has_withdrawn && !EKIDEN_MUTANT(lanes_withdrawn_writer_stops_readers);
        if (!next->is_shared && here.readers != 0 && !is_passed && !EKIDEN_MUTANT(lanes_writer_joins_readers))
            break;
        (void)here.tasks.take();
        // In lanes with a capacity, withdraw() has given back the room of the claim.
        if (!next->has_withdrawn || !is_bounded_ || EKIDEN_MUTANT(lanes_count_a_withdrawn_claim_twice)) {
            --here.waiting;
            task_left(s, here, *next);
        }
        if (next->has_withdrawn && !EKIDEN_MUTANT(lanes_grant_a_withdrawn_claim)) [[unlikely]] {
            s.left.tasks.push(next);
            continue;
        }
        if (!here.tasks.is_empty()) sys::prefetch(here.tasks.oldest()); // needed when the request ends
        grant(here, *next, requests);
    }
    if (here.is_taken()) return;
    if (!here.tasks.is_empty())
        s.ready.push(here);
    else if (!EKIDEN_MUTANT(lanes_keep_an_idle_entry))
        erase(s, here);
}

/// Records that a task has left the lane. Releases the posts that continue now.
void lanes_state::task_left(lane_shard& s, lane& here, const task& left) noexcept {
    if (here.has_waiters) [[unlikely]]
        s.waiters.give_room(&here, &left, here.waiting, lane_capacity_, s.left.released);
    room_.leave(left, s.left.released);
}

/// Moves all tasks of `from` to `to`, from where they are abandoned later. Returns the number of functions
/// that are lost. A request whose claims are in several lanes counts only once.
std::uint32_t lanes_state::drop(task_list from, task_list& to) noexcept {
    std::uint32_t lost = 0;
    while (task* const dropped = from.take()) {
        lost += lane_claim::cancel(*dropped) ? 1U : 0U;
        to.push(dropped);
    }
    return lost;
}

/// Removes the tasks that stay at a close() from a list, and returns these tasks in their order. Sets `count`
/// to their number.
task_list lanes_state::take_staying(task_list& from, std::uint32_t& count) noexcept {
    task_list staying;
    task_list others;
    count = 0;
    while (task* const next = from.take()) {
        const bool stays = stays_at_close(*next) && !EKIDEN_MUTANT(lanes_close_drops_an_operation);
        count += stays ? 1U : 0U;
        (stays ? staying : others).push(next);
    }
    from = std::move(others);
    return staying;
}

/// Removes all tasks that wait in the lane, like drop(). Returns the number of functions that are lost.
std::uint32_t lanes_state::drop_all(lane_shard& s, lane& here, task_list& to) noexcept {
    here.waiting = 0;
    if (here.has_waiters) [[unlikely]] // all posts that wait for room in the lane continue
        s.waiters.give_room(&here, nullptr, 0, lane_capacity_, s.left.released);
    for (const task* t = here.tasks.oldest(); t != nullptr && is_bounded_; t = t->next.load(sys::relaxed))
        if (!lane_claim::is_withdrawn(*t)) room_.leave(*t, s.left.released); // else withdraw() has done it
    return drop(std::exchange(here.tasks, {}), to);
}

namespace {

/// The maximum number of unused lanes that a shard keeps for new lanes. One call of sort() needs at most this
/// number. Without unused lanes, threads would often free memory that another thread has allocated, which is
/// slow.
constexpr std::uint32_t most_unused = batch_limit::most_tasks;

} // namespace

/// Erases an unused lane. If the lane has handles, only records that it is idle.
void lanes_state::erase(lane_shard& s, lane& here) noexcept {
    if (here.has_waiters) [[unlikely]]
        s.waiters.release_all(here, s.left.released);
    if (here.is_resting) --s.resting;
    if (here.handles.load(sys::relaxed) != 0 && !EKIDEN_MUTANT(lanes_erase_beneath_a_handle)) {
        here.is_resting = true;
        ++s.resting;
        here.has_waiters = false;
        here.is_closed.store(false, sys::relaxed);
        return;
    }
    s.table.remove(here);
    if (!how_.keeps_entries) {
        here.chain = std::exchange(s.left.gone, &here);
    } else if (s.unused_count == most_unused) {
        how_.end_lane(here);
    } else {
        ++s.unused_count;
        here.chain = std::exchange(s.unused, &here);
    }
}

void lanes_state::end_unused() noexcept {
    if (is_in_child()) return; // another thread may have changed the lists during the fork
    for (std::size_t n = 0; n <= shard_mask_; ++n) {
        lane*& unused = shards_[n].unused;
        while (unused != nullptr) how_.end_lane(*std::exchange(unused, unused->chain));
    }
}

// ---- handles

void lanes_state::add_lane_handle(lane_shard& s, lane& of) noexcept {
    if (of.handles.fetch_add(1, sys::relaxed) != 0) return;
    add_handle();                     // all handles of one lane count as one handle of the lanes
    if (of.is_unused()) erase(s, of); // the lane is new, and now is resting
}

void lanes_state::drop_lane_handle(const known_lane& of) noexcept {
    lane& here = *of.where;
    std::uint32_t count = here.handles.load(sys::relaxed);
    while (count > 1) {
        // [LN7] Release: the thread that drops the last handle sees the posts by this handle.
        if (here.handles.compare_exchange_weak(count, count - 1, sys::release, sys::relaxed)) return;
    }
    if (!is_in_child()) { // in the child, another thread may own the lock forever
        lane_shard& s = *of.shard;
        lock guard(s.lock);
        // Another thread may have made a handle meanwhile. [LN7] Acquire: this thread sees the posts by all
        // earlier handles. Release is not necessary, because the last handle is dropped under the same lock.
        if (here.handles.fetch_sub(1, sys::acquire) != 1) return;
        if (!EKIDEN_MUTANT(lanes_drop_before_sorting))
            sort_all(s); // tasks in the inbox may have a pointer to the lane
        if (here.is_resting) erase(s, here);
        unlock(guard, s);
    }
    drop_handle();
}

// ---- dispatch, close and wait

bool lanes_state::runs_here(lane_shard& s, keyed_task* given) {
    // [LN2] Waits for the post of a request with several keys, as a post does.
    if (has_several_.load(sys::relaxed) && !EKIDEN_MUTANT(lanes_dispatch_into_a_request))
        const std::lock_guard wait(s.order);
    lock guard(s.lock);
    // The tasks that this thread has posted before must be in their lanes.
    const bool is_sorted = EKIDEN_MUTANT(lanes_dispatch_before_older_posts) || sort(s);
    lane* const found = is_sorted ? lane_of(s, *given) : nullptr;
    if (found == nullptr || !found->is_unused()) {
        unlock(guard, s);
        return false;
    }
    lane& here = *found;
    if (std::exchange(here.is_resting, false)) --s.resting;
    here.is_running = true;
    ++s.posted;
    batch taken;
    taken.tasks.push(given);
    taken.left = 1;
    add_use(s);
    bool has_drain = false;
    batch_limit limit(s.tasks_are_long);
    const serial_scope inside(this);
    try {
        (void)run_taken(guard, s, here, taken, limit, has_drain);
    } catch (...) {
        leave_for_good(guard, s, has_drain);
        throw;
    }
    leave_for_good(guard, s, has_drain);
    return true;
}

std::size_t lanes_state::close(lock guard, lane_shard& s, lane* here) noexcept {
    std::uint32_t count = 0;
    if (here != nullptr) {
        std::uint32_t kept = 0;
        task_list staying = take_staying(here->tasks, kept);
        here->waiting -= kept;
        count = drop_all(s, *here, s.left.tasks);
        here->tasks = std::move(staying);
        here->waiting = kept;
        s.dropped += count;
        if (here->is_in_use()) {
            here->is_closed.store(true, sys::relaxed);
        } else if (here->is_ready && here->tasks.is_empty()) { // the drain may not run soon
            s.ready.remove(*here);
            erase(s, *here);
        }
    }
    unlock(guard, s);
    return count;
}

bool lanes_state::wait_idle(lock guard, lane_shard& s, lane* here, const wait_limit& limit) {
    if (here == nullptr || here->is_resting) return unlock(guard, s), true;
    if (serial_scope::is_beneath(scope_of(*here, false))
        || serial_scope::is_beneath(scope_of(*here, true))) { // the function runs until this wait returns
        unlock(guard, s);
        throw std::system_error(
            std::make_error_code(std::errc::resource_deadlock_would_occur),
            "ekiden: lanes::wait_idle in a function of the same lane, or in what that waits for");
    }
    lane_waiter me;
    me.where = here;
    here->has_waiters = true;
    s.waiters.push(me);
    unlock(guard, s);
    if (me.is_done.wait(limit)) return true;
    // The lanes exist while a waiter is in a list, because a lane is erased together with its waiters.
    guard.lock();
    const bool gave_up = s.waiters.remove(me);
    guard.unlock();
    if (gave_up) return false;
    // Another thread has removed the waiter from the list, and is about to complete it. The waiter must exist
    // until then.
    me.is_done.wait(blocking);
    return true;
}

} // namespace ekiden::inline EKIDEN_ABI
