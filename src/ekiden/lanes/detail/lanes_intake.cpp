// How tasks come into lanes: from the inbox, under the lock; and how the drain comes to the inner executor.
#include <ekiden/execution/detail/task_offer.hpp>
#include <ekiden/lanes/detail/lanes_state.hpp>
#include <ekiden/sys/mutant.hpp>
#include <ekiden/sys/thread.hpp>

#include <exception>
#include <memory>
#include <new>
#include <utility>

namespace ekiden::inline EKIDEN_ABI {

void lanes_state::append(lane_shard& s, lane::index i, lane& here, task* given, std::uint32_t when) noexcept {
    ::new (static_cast<void*>(std::addressof(given->next))) sys::atomic<task*>(given);
    if (here.newest != nullptr) {
        given->next.store(here.newest->next.load(sys::relaxed), sys::relaxed);
        here.newest->next.store(given, sys::relaxed);
    }
    here.newest = given;
    ++here.depth;
    ++s.posted;
    if (when != 0 && !here.is(lane::has_probe)) [[unlikely]]
        begin_probe(s, i, here, when);
}

/// The lane has a task. True: the caller has the drain, and schedules it.
bool lanes_state::make_ready(lane_shard& s, lane::index i, lane& here) noexcept {
    if (here.is(lane::is_ready | lane::is_running)) return false;
    link_ready(s, i, here);
    return s.inbox.try_begin();
}

void lanes_state::link_ready(lane_shard& s, lane::index i, lane& here) noexcept {
    here.flags |= lane::is_ready;
    here.next_ready = lane::none;
    (s.first_ready == lane::none ? s.first_ready : s.table.at(s.last_ready).next_ready) = i;
    s.last_ready = i;
}

namespace {

/// Goes through an inbox behind what was pushed before.
struct marker final : task {
    marker() noexcept : task(&answer) {}
    static const char* answer(task*, task_request) { return nullptr; }
};

/// The lock is not held for longer than it takes to sort these.
constexpr int most_sorted = 256;

} // namespace

bool lanes_state::sort(lane_shard& s) noexcept {
    for (int n = 0; n != most_sorted; ++n) {
        task* const found = s.inbox.take();
        if (found == nullptr) return s.inbox.is_drained() || s.inbox.is_idle();
        give_to_lane(s, static_cast<keyed_task&>(*found));
    }
    return false;
}

void lanes_state::sort_all(lane_shard& s) noexcept {
    if (sort(s)) return;
    // Somebody has the drain, or it would be sorted; it is not given up without the lock.
    marker last;
    (void)s.inbox.push(&last);
    for (;;) {
        task* const found = s.inbox.take();
        if (found == &last) return;
        if (found == nullptr)
            sys::yield(); // a push is under way
        else
            give_to_lane(s, static_cast<keyed_task&>(*found));
    }
}

/// Unlocks, and ends what must not end under the lock: tasks and keys may call anything.
void lanes_state::end_outside(lock& guard, lane_shard& s) noexcept {
    lanes_state& all = s.all;
    all.add_handle(); // a key or a task may have the last one
    task_chain refused;
    refused.append(std::move(s.refused));
    const std::exception_ptr failure = std::exchange(s.failure, nullptr);
    std::uint32_t failures = std::exchange(s.failures, 0);
    lane* const gone = std::exchange(s.gone, nullptr);
    guard.unlock();
    for (; failures != 0; --failures) {
        try {
            std::rethrow_exception(failure);
        } catch (...) {
            all.how_.report(all);
        }
    }
    (void)refused.abandon();
    for (lane* one = gone; one != nullptr; one = one->next_gone) all.how_.end_key(*one);
    if (gone != nullptr) {
        guard.lock();
        for (lane* one = gone; one != nullptr;) s.table.give_back(std::exchange(one, one->next_gone)->chain);
        guard.unlock();
    }
    all.drop_handle();
}

void lanes_state::give_to_lane(lane_shard& s, keyed_task& given) noexcept {
    const lane::index i = how_.entry_for(s, given);
    lane* const here = i != lane::none ? &s.table.at(i) : nullptr;
    if (here == nullptr || here->is(lane::is_closed)) [[unlikely]] {
        ++s.dropped;
        if (here == nullptr) ++s.failures;
        s.refused.push(&given);
        return;
    }
    append(s, i, *here, &given, given.when);
    if (!here->is(lane::is_ready | lane::is_running)) link_ready(s, i, *here);
}

/// Gives the drain, which this thread has, to the inner executor, with a handle. False: it was refused, and
/// all that was to be run has been abandoned, `given` with it. (If `given` was not there any more, another
/// thread had taken it.) Throws what the inner executor throws: then this thread has the drain still, and the
/// handle.
bool lanes_state::offer(lane_shard& s, task_order order, const task* given) {
    add_handle();
    const task_offer mine(s);
    try {
        (void)how_.schedule(*this, &s, order);
        if (!mine.came_back()) return true;
    } catch (...) {
        if (!mine.came_back() || EKIDEN_MUTANT(lanes_forget_what_came_back))
            return true; // it has been accepted all the same
        throw;
    }
    return !abandon_ready(s, given, false);
}

/// The same for a post, which cannot run anything itself: if the inner executor throws, all is abandoned, and
/// what others have posted is reported. This throws then, if `given` was among it.
bool lanes_state::give_drain(lane_shard& s, task_order order, const task* given) {
    try {
        return offer(s, order, given);
    } catch (...) {
        if (!abandon_ready(s, given, true)) return true;
        throw;
    }
}

/// The same for a thread that runs lanes. False: it has the drain still.
bool lanes_state::passes_on(lane_shard& s, task_order order) noexcept {
    try {
        (void)offer(s, order, nullptr);
        return true;
    } catch (...) {
        drop_handle(); // not the last one: the thread has its own
        return false;
    }
}

} // namespace ekiden::inline EKIDEN_ABI
