#include <ekiden/lanes/detail/lanes_state.hpp>

#include <ekiden/context/serial_scope.hpp>
#include <ekiden/context/simulated.hpp>
#include <ekiden/execution/detail/run_task.hpp>
#include <ekiden/execution/detail/task_offer.hpp>
#include <ekiden/queue/recycler.hpp>
#include <ekiden/sys/bad_argument.hpp>
#include <ekiden/sys/clock.hpp>
#include <ekiden/sys/mutant.hpp>
#include <ekiden/sys/thread.hpp>
#include <ekiden/sys/topology.hpp>

#include <algorithm>
#include <bit>
#include <new>
#include <string>
#include <system_error>
#include <utility>

namespace ekiden::inline EKIDEN_ABI {

// ---- begin and end

namespace {

constexpr unsigned most_shards = 4096;

std::size_t shard_count_of(const lanes_options& options) {
    if (options.shards > most_shards) {
        sys::refuse_argument("lanes", "shards", options.shards,
                             "0 (one per usable processor) to " + std::to_string(most_shards));
    }
    if (options.shards != 0) return std::bit_ceil(options.shards);
    if (simulation_here() != nullptr) return 4; // the same on every machine
    // Two threads that run lanes of one shard hold each other up; a shard without a thread of its own makes
    // the others' batches short.
    return std::bit_floor(std::min(sys::usable_concurrency(), most_shards));
}

std::uint64_t probe_mask_of(unsigned sampling) {
    return sampling == 0 ? ~std::uint64_t{0} : std::bit_ceil(std::uint64_t{sampling}) - 1;
}

} // namespace

lane_shard::lane_shard(lanes_state& of, unsigned index, std::size_t entry_bytes)
    : task(&lanes_state::answer_drain), table(entry_bytes), all(of), number(index) {}

lanes_state::lanes_state(const lanes_options& chosen, const operations& how, std::size_t entry_bytes,
                         const execution_context& inner)
    : how_(how), inner_(inner), lane_capacity_(chosen.lane_capacity), capacity_(chosen.capacity),
      policy_(chosen.policy), is_bounded_(lane_capacity_ != 0 || capacity_ != 0),
      probe_mask_(probe_mask_of(chosen.delay_sampling)), shard_mask_(shard_count_of(chosen) - 1),
      shards_(std::allocator<lane_shard>().allocate(shard_mask_ + 1)) {
    for (unsigned i = 0; i != shard_count(); ++i) std::construct_at(&shards_[i], *this, i, entry_bytes);
}

lanes_state::~lanes_state() {
    std::destroy_n(shards_, shard_count());
    std::allocator<lane_shard>().deallocate(shards_, shard_count());
}

void lanes_state::throw_in_child(const char* operation) const {
    throw std::system_error(std::make_error_code(std::errc::operation_not_permitted),
                            std::string("ekiden: lanes::") + operation
                                + " in the child of fork(); these lanes belong to the parent");
}

// ---- the drain

namespace {

/// A lane from which so many tasks were run in one turn, and that has more, is a long one.
constexpr std::uint32_t long_lane = batch_limit::most_tasks / 2;

} // namespace

const char* lanes_state::answer_drain(task* drain, task_request request) {
    if (request == task_request::describe) return type_description<lane_shard>();
    auto& s = *static_cast<lane_shard*>(drain);
    if (request == task_request::run)
        s.all.run_ready(s);
    else if (!task_offer::take_back(s))
        (void)s.all.abandon_ready(s, nullptr, false);
    return nullptr;
}

/// What a thread has taken out of a lane, to run it.
struct lanes_state::batch {
    task_chain tasks;
    std::uint32_t run = 0;
    std::uint32_t closings = 0;
    std::uint32_t probed = ~0U; // the one, from 0, whose delay is measured
    std::uint32_t since = 0;
    std::uint64_t delay = 0;
    std::size_t name = 0;   // of the lane, for its delay
    std::uint32_t hash = 0; // of the lane, for the trace
    lane_waiters admitted;
};

/// Runs lanes until the inner executor has the drain again, or none is needed.
void lanes_state::run_ready(lane_shard& s) {
    lock guard(s.lock);
    for (bool is_kept = false;; is_kept = true, guard.lock()) {
        bool has_drain = true;
        s.drain_is_queued = false;
        try {
            run_some(guard, s, has_drain, is_kept);
        } catch (...) {
            leave_for_good(guard, s, has_drain); // the thread may leave the context
            throw;
        }
        try {
            return leave(guard, s, has_drain, task_order::deferred);
        } catch (...) { // the inner executor cannot take the drain now: this thread goes on
            if (takes_no_more()) {
                (void)abandon_ready(s, nullptr, false);
                return drop_handle();
            }
            drop_handle();
        }
    }
}

/// Runs lanes in turn until the batch is full, or none is ready, or the inner context holds them. `is_kept`:
/// the inner executor did not take the drain back, so one function is run in any case.
void lanes_state::run_some(lock& guard, lane_shard& s, bool& has_drain, bool is_kept) {
    batch_limit limit(s.tasks_are_long);
    simulated_thread* const simulation = simulation_here();
    const serial_scope inside(this);
    for (bool goes_on = true; goes_on;) {
        // Not more than is run soon, which stays in the cache; but what comes behind a long lane does not
        // wait for its end.
        if (s.first_ready == lane::none || std::exchange(s.has_long_lane, false)) (void)sort(s);
        if (s.first_ready == lane::none) break;
        // A function that is in a lane by now was posted before this check: if it was posted after pause(),
        // the gate is seen paused.
        if (!std::exchange(is_kept, false) && !EKIDEN_MUTANT(lanes_forget_the_gate) && inner_.holds_tasks())
            break;
        if (simulation != nullptr) [[unlikely]]
            choose_first(s, *simulation);
        const lane::index i = s.first_ready;
        lane& here = s.table.at(i);
        s.first_ready = here.next_ready;
        here.flags = (here.flags & ~std::uint32_t{lane::is_ready}) | lane::is_running;
        goes_on = run_lane(guard, s, i, limit, has_drain, false);
    }
    s.tasks_are_long = limit.are_long();
}

/// Makes one that the simulation chooses the first of the lanes that are ready.
void lanes_state::choose_first(lane_shard& s, simulated_thread& simulation) noexcept {
    (void)sort(s); // all that were posted have their chance
    std::uint32_t ready = 0;
    for (lane::index i = s.first_ready; i != lane::none; i = s.table.at(i).next_ready) ++ready;
    std::uint32_t steps = simulation.choose_next(ready);
    if (steps == 0) return;
    lane::index before = s.first_ready;
    while (--steps != 0) before = s.table.at(before).next_ready;
    const lane::index chosen = s.table.at(before).next_ready;
    s.table.at(before).next_ready = s.table.at(chosen).next_ready;
    if (s.last_ready == chosen) s.last_ready = before;
    s.table.at(chosen).next_ready = std::exchange(s.first_ready, chosen);
}

/// The thread runs no more lanes of this shard. Throws as offer(), and then has its own handle still.
void lanes_state::leave(lock& guard, lane_shard& s, bool has_drain, task_order order) {
    const bool needs_drain = !EKIDEN_MUTANT(lanes_forget_the_rest) && keep_drain(s, has_drain);
    const bool comes_early = s.first_ready == lane::none;
    unlock(guard, s);
    if (needs_drain) {
        if (comes_early) sys::yield(); // a push is under way; its thread may want this processor
        (void)offer(s, order, nullptr);
    }
    drop_handle();
}

/// The same for a thread that cannot run more of them.
void lanes_state::leave_for_good(lock& guard, lane_shard& s, bool has_drain) noexcept {
    try {
        leave(guard, s, has_drain, task_order::last);
    } catch (...) {
        (void)abandon_ready(s, nullptr, true);
        drop_handle();
    }
}

/// Before the lock is given up: if there is something to run or to sort, somebody has the drain afterwards,
/// so that a function that blocks holds up no other lane. True: the caller has it, and schedules it.
bool lanes_state::keep_drain(lane_shard& s, bool has_drain) noexcept {
    if (!has_drain) {
        if (s.drain_is_queued || s.first_ready == lane::none || !s.inbox.try_begin()) return false;
        return s.drain_is_queued = true;
    }
    while (s.first_ready == lane::none) {
        if (s.inbox.try_rest()) return false;
        if (!sort(s)) break;
    }
    return s.drain_is_queued = true;
}

/// Runs tasks of a lane that is running by this thread. Unlocked meanwhile. False if the batch is full.
bool lanes_state::run_lane(lock& guard, lane_shard& s, lane::index i, batch_limit& limit, bool& has_drain,
                           bool is_turn) {
    lane& here = s.table.at(i);
    batch taken;
    begin_batch(s, i, here, taken, is_turn);
    // A thread with nothing to do may run other lanes meanwhile; it comes behind what waits in the context.
    const bool gives_drain = keep_drain(s, std::exchange(has_drain, false));
    unlock(guard, s);
    if (gives_drain) has_drain = !passes_on(s, task_order::last);
    taken.admitted.complete(true);
    bool goes_on = true;
    try {
        goes_on = run_batch(here, taken, limit);
    } catch (...) {
        guard.lock();
        if (has_drain) s.drain_is_queued = false;
        end_batch(guard, s, i, taken);
        throw;
    }
    guard.lock();
    if (has_drain) s.drain_is_queued = false;
    end_batch(guard, s, i, taken);
    return goes_on;
}

/// Takes all tasks of the lane; where they are counted, the oldest one; for a dispatch its own, the oldest
/// one.
void lanes_state::begin_batch(lane_shard& s, lane::index i, lane& here, batch& taken, bool is_turn) noexcept {
    taken.closings = closings_.load(sys::relaxed);
    taken.hash = here.hash();
    if (here.is(lane::has_probe)) [[unlikely]] {
        const lane_shard::probe& p = probe_of(s, i);
        taken.probed = p.ahead;
        taken.since = p.since;
    }
    if (!is_bounded_) return is_turn ? taken.tasks.take_one(here) : taken.tasks.take_all(here);
    if (here.newest == nullptr) return;
    taken.tasks.take_one(here);
    --here.depth;
    here.flags |= lane::has_one_out;
    lane_waiter* const next =
        here.is(lane::has_waiters) && here.depth < lane_capacity_ ? s.waiters.pop_at(i, true) : nullptr;
    if (next != nullptr) { // it has the room that the task leaves
        append(s, i, here, next->given, 0);
        taken.admitted.push(*next);
    } else {
        give_room(1, taken.admitted);
    }
}

bool lanes_state::run_batch(lane& here, batch& taken, batch_limit& limit) {
    const serial_scope inside(&here);
    const trace::detail::interval turn(trace::kind::turn, "lane", taken.hash);
    while (!taken.tasks.empty()) {
        task* const next = taken.tasks.pop();
        if (taken.run++ == taken.probed) [[unlikely]] {
            taken.delay = (std::uint64_t{time() - taken.since} << 10) + 1;
            taken.name = how_.name_of(*this, here);
        }
        run_task(*next);
        if (!limit.goes_on() || inner_.holds_tasks()) return false;
        // relaxed: a hint; end_batch() decides.
        if (closings_.load(sys::relaxed) != taken.closings) [[unlikely]]
            return true;
    }
    return true;
}

/// The lane is not running any more: it is ready again, or it vanishes.
void lanes_state::end_batch(lock& guard, lane_shard& s, lane::index i, batch& taken) noexcept {
    lane& here = s.table.at(i);
    if (here.is(lane::is_closed)) [[unlikely]] {
        unlock(guard, s);
        const std::size_t dropped = taken.tasks.abandon();
        guard.lock();
        here.depth -= static_cast<std::uint32_t>(dropped);
        s.dropped += dropped;
        sort_all(s); // what was posted before the end of the function is refused
    }
    s.ended += taken.run;
    if (!is_bounded_) here.depth -= taken.run;
    if (here.is(lane::has_probe)) [[unlikely]] {
        if (taken.delay != 0) {
            how_.note_delay(*this, s.number, here, taken.name, taken.delay);
            end_probe(s, i, here);
        } else {
            probe_of(s, i).ahead -= taken.run;
        }
    }
    if (!taken.tasks.empty()) taken.tasks.put_back(here);
    here.flags &= ~std::uint32_t{lane::is_running | lane::has_one_out};
    if (here.newest != nullptr) { // leave() looks whether the drain is queued
        if (taken.run >= long_lane) s.has_long_lane = true;
        return link_ready(s, i, here);
    }
    if (EKIDEN_MUTANT(lanes_keep_an_idle_entry)) return;
    lane_waiters woken;
    erase(s, i, woken);
    if (woken.empty()) [[likely]]
        return;
    unlock(guard, s);
    woken.complete(true);
    guard.lock();
}

/// What is left when a lane ends without having been run.
struct lanes_state::leavings {
    task_chain tasks;
    lane_waiters refused;
    lane_waiters woken;
    lane_waiters admitted;

    /// Not under a lock. Returns how many tasks.
    std::size_t end(lanes_state& of) noexcept {
        const std::size_t count = tasks.abandon();
        of.give_room(count, admitted);
        refused.complete(false);
        admitted.complete(true);
        woken.complete(true);
        return count;
    }
};

/// With the drain and a handle, which are gone afterwards: abandons all that is ready or in the inbox.
/// Returns whether `given` was among it. `tells`: everything else counts as dropped, and is reported with the
/// exception that is being handled.
bool lanes_state::abandon_ready(lane_shard& s, const task* given, bool tells) noexcept {
    leavings left;
    bool has_given = false;
    std::uint32_t lost = 0;
    {
        lock guard(s.lock);
        s.drain_is_queued = false;
        while (keep_drain(s, true)) {
            s.drain_is_queued = false;
            if (s.first_ready == lane::none) { // a push is under way
                guard.unlock();
                sys::yield();
                guard.lock();
            }
            while (s.first_ready != lane::none) {
                const lane::index i = s.first_ready;
                s.first_ready = s.table.at(i).next_ready;
                drop_all(s, i, left);
                erase(s, i, left.woken);
            }
        }
        s.drain_is_queued = false;
        has_given = given != nullptr && left.tasks.contains(given);
        if (tells) {
            lost = left.tasks.count() - (has_given ? 1U : 0U);
            s.dropped += lost;
            if (has_given) --s.posted;
        }
        has_given = has_given || (given != nullptr && s.refused.contains(given));
        unlock(guard, s);
    }
    for (; lost != 0; --lost) how_.report(*this);
    left.end(*this);
    drop_handle();
    return has_given;
}

/// All that waits in the lane, or to be let in.
void lanes_state::drop_all(lane_shard& s, lane::index i, leavings& to) noexcept {
    lane& here = s.table.at(i);
    task_chain all;
    all.take_all(here);
    to.tasks.append(std::move(all));
    if (here.is(lane::has_probe)) end_probe(s, i, here);
    if (!here.is(lane::has_waiters)) return;
    while (lane_waiter* const next = s.waiters.pop_at(i, true)) {
        ++s.rejected;
        to.refused.push(*next);
    }
}

void lanes_state::erase(lane_shard& s, lane::index i, lane_waiters& woken) noexcept {
    lane& here = s.table.at(i);
    if (here.is(lane::has_waiters)) [[unlikely]] {
        while (lane_waiter* const next = s.waiters.pop_at(i, false)) woken.push(*next);
    }
    s.table.remove(i);
    if (how_.end_key == nullptr) return s.table.give_back(i);
    here.chain = i;
    here.next_gone = std::exchange(s.gone, &here);
}

/// A post has found, or made, an entry, and does not use it.
void lanes_state::erase_if_unused(lane_shard& s, lane::index i, lane_waiters& woken) noexcept {
    const lane& here = s.table.at(i);
    if (here.newest == nullptr && !here.is(lane::is_ready | lane::is_running)) erase(s, i, woken);
}

void lanes_state::leave_entry(lock guard, lane_shard& s, lane::index i) noexcept {
    lane_waiters woken;
    erase_if_unused(s, i, woken);
    unlock(guard, s);
    woken.complete(true);
}

std::size_t lanes_state::close(lock guard, lane_shard& s, lane::index i) noexcept {
    if (i == lane::none) return unlock(guard, s), 0;
    leavings left;
    lane& here = s.table.at(i);
    drop_all(s, i, left);
    const std::uint32_t count = left.tasks.count();
    here.depth -= count;
    s.dropped += count;
    if (here.is(lane::has_turn)) { // which begins later, and finds what is posted until then
        here.flags &= ~std::uint32_t{lane::has_own};
    } else if (here.is(lane::is_running)) {
        here.flags |= lane::is_closed;
        closings_.fetch_add(1, sys::relaxed); // seen under the lock, at the latest
    }
    unlock(guard, s);
    return left.end(*this);
}

// ---- dispatch: a lane that a thread runs at once

struct lanes_state::turn_task final : task {
    turn_task() noexcept : task(&answer) {}

    static const char* answer(task* base, task_request request) {
        if (request == task_request::describe) return type_description<turn_task>();
        auto* const self = static_cast<turn_task*>(base);
        lane_shard* const s = self->where;
        const lane::index i = self->number;
        recycler::destroy(self);
        if (s == nullptr) return nullptr; // not used
        if (request == task_request::abandon)
            s->all.abandon_claimed(*s, i);
        else
            s->all.run_claimed(*s, i);
        return nullptr;
    }

    lane_shard* where = nullptr;
    lane::index number = lane::none;
};

task* lanes_state::make_turn() { return recycler::create<turn_task>(); }

bool lanes_state::claim(lane_shard& s, lane::index i, task* given, task* turn) noexcept {
    lane& here = s.table.at(i);
    if (here.newest != nullptr || here.is(lane::is_ready | lane::is_running)) return false;
    if (is_bounded_ && !reserve_room()) return false;
    append(s, i, here, given, 0);
    here.flags |= lane::is_running | lane::has_turn | lane::has_own;
    auto& mine = static_cast<turn_task&>(*turn);
    mine.where = &s;
    mine.number = i;
    handles_.fetch_add(1, sys::relaxed);
    return true;
}

/// The turn of a dispatch has come. Whether its function is still there.
bool lanes_state::begin_turn(lane& here) noexcept {
    const bool has_own = here.is(lane::has_own);
    here.flags &= ~std::uint32_t{lane::has_turn | lane::has_own};
    return has_own;
}

/// Runs the function of the dispatch and no other one: the thread may be inside of another function.
void lanes_state::run_claimed(lane_shard& s, lane::index i) {
    lock guard(s.lock);
    const bool has_own = begin_turn(s.table.at(i));
    bool has_drain = false;
    try {
        const serial_scope inside(this);
        if (has_own) {
            batch_limit limit(s.tasks_are_long);
            (void)run_lane(guard, s, i, limit, has_drain, true);
        } else { // the lane was closed, or has dropped it
            batch none;
            end_batch(guard, s, i, none);
        }
    } catch (...) {
        leave_for_good(guard, s, has_drain);
        throw;
    }
    leave_for_good(guard, s, has_drain);
}

void lanes_state::abandon_claimed(lane_shard& s, lane::index i) noexcept {
    lock guard(s.lock);
    lane& here = s.table.at(i);
    leavings left;
    task_chain own;
    if (begin_turn(here)) {
        if (here.is(lane::has_probe)) end_probe(s, i, here);
        own.take_one(here);
        --here.depth;
        lane_waiter* const next = here.is(lane::has_waiters) ? s.waiters.pop_at(i, true) : nullptr;
        if (next != nullptr) { // it has the room
            append(s, i, here, next->given, 0);
            left.admitted.push(*next);
        } else {
            give_room(1, left.admitted);
        }
    }
    here.flags &= ~std::uint32_t{lane::is_running};
    if (here.newest != nullptr)
        link_ready(s, i, here);
    else
        erase(s, i, left.woken);
    add_handle();
    leave_for_good(guard, s, false);
    (void)own.abandon();
    (void)left.end(*this);
    drop_handle();
}

} // namespace ekiden::inline EKIDEN_ABI
