// What lanes do besides running: chains of tasks, full lanes, threads that wait, delays.
#include <ekiden/lanes/detail/lanes_state.hpp>

#include <ekiden/context/serial_scope.hpp>
#include <ekiden/sys/clock.hpp>
#include <ekiden/sys/thread.hpp>

#include <algorithm>
#include <system_error>
#include <utility>

namespace ekiden::inline EKIDEN_ABI {

// ---- chains

void task_chain::take_all(lane& from) noexcept {
    if (from.newest == nullptr) return;
    last_ = std::exchange(from.newest, nullptr);
    first_ = last_->next.load(sys::relaxed);
}

void task_chain::take_one(lane& from) noexcept {
    task* const oldest = from.newest->next.load(sys::relaxed);
    if (oldest == from.newest)
        from.newest = nullptr;
    else
        from.newest->next.store(oldest->next.load(sys::relaxed), sys::relaxed);
    first_ = last_ = oldest;
}

void task_chain::append(task_chain&& others) noexcept {
    if (others.empty()) return;
    if (empty())
        first_ = others.first_;
    else
        last_->next.store(others.first_, sys::relaxed);
    last_ = others.last_;
    others.first_ = nullptr;
}

void task_chain::put_back(lane& to) noexcept {
    if (to.newest == nullptr) {
        to.newest = last_;
    } else {
        last_->next.store(to.newest->next.load(sys::relaxed), sys::relaxed);
    }
    to.newest->next.store(first_, sys::relaxed);
    first_ = nullptr;
}

void task_chain::push(task* last) noexcept {
    ::new (static_cast<void*>(std::addressof(last->next))) sys::atomic<task*>(nullptr);
    if (empty())
        first_ = last;
    else
        last_->next.store(last, sys::relaxed);
    last_ = last;
}

bool task_chain::contains(const task* wanted) const noexcept {
    if (first_ == nullptr) return false;
    for (const task* t = first_;; t = t->next.load(sys::relaxed)) {
        if (t == wanted) return true;
        if (t == last_) return false;
    }
}

std::uint32_t task_chain::count() const noexcept {
    std::uint32_t count = 0;
    if (first_ == nullptr) return count;
    for (const task* t = first_; ++count, t != last_;) t = t->next.load(sys::relaxed);
    return count;
}

std::size_t task_chain::abandon() noexcept {
    std::size_t count = 0;
    for (; !empty(); ++count) pop()->abandon();
    return count;
}

// ---- waiters

void lane_waiters::push(lane_waiter& last) noexcept {
    last.next = nullptr;
    *end_ = &last;
    end_ = &last.next;
}

lane_waiter* lane_waiters::pop() noexcept {
    lane_waiter* const first = first_;
    if (first != nullptr) {
        first_ = first->next;
        if (first_ == nullptr) end_ = &first_;
    }
    return first;
}

lane_waiter* lane_waiters::pop_at(lane::index where, bool posts) noexcept {
    for (lane_waiter** link = &first_; *link != nullptr; link = &(*link)->next) {
        lane_waiter* const here = *link;
        if (here->where != where || (here->given != nullptr) != posts) continue;
        *link = here->next;
        if (*link == nullptr) end_ = link;
        return here;
    }
    return nullptr;
}

bool lane_waiters::remove(const lane_waiter& gone) noexcept {
    for (lane_waiter** link = &first_; *link != nullptr; link = &(*link)->next) {
        if (*link != &gone) continue;
        *link = gone.next;
        if (*link == nullptr) end_ = link;
        return true;
    }
    return false;
}

lane_waiter* lane_waiters::pop_topmost() noexcept {
    if (first_ == nullptr) return nullptr;
    lane_waiter* top = first_;
    while (top->above != nullptr) top = top->above;
    if (!top->is_queued || top == first_) return pop();
    (void)remove(*top);
    return top;
}

void lane_waiters::complete(bool value) noexcept {
    while (lane_waiter* const next = pop()) {
        promise<bool> done = std::move(next->done); // the waiter may be gone before set_value() returns
        done.set_value(value);
    }
}

// ---- room

bool lanes_state::reserve_room() noexcept {
    if (capacity_ == 0) return true;
    const std::lock_guard guard(room_lock_);
    return take_room();
}

bool lanes_state::take_room() noexcept {
    if (room_used_ >= capacity_) return false;
    ++room_used_;
    return true;
}

/// So many tasks have left the lanes: their room goes to those that wait for it.
void lanes_state::give_room(std::size_t count, lane_waiters& woken) noexcept {
    if (capacity_ == 0 || count == 0) return;
    const std::lock_guard guard(room_lock_);
    room_used_ -= count;
    while (room_used_ < capacity_) {
        lane_waiter* const next = room_wanted_.pop_topmost();
        if (next == nullptr) break;
        ++room_used_;
        next->is_queued = false;
        next->has_room = true;
        woken.push(*next);
    }
}

void lanes_state::return_room() noexcept {
    lane_waiters woken;
    give_room(1, woken);
    woken.complete(true);
}

lanes_state::outcome lanes_state::push(lock guard, lane_shard& s, lane::index i, task* given,
                                       task_order order, bool has_room) {
    lane& here = s.table.at(i);
    if (here.is(lane::is_closed)) return refuse(std::move(guard), s, i, given, has_room);
    const bool lane_is_full = lane_capacity_ != 0 && here.depth >= lane_capacity_;
    task_chain dropped;
    if (lane_is_full || (!has_room && !reserve_room())) {
        if (policy_ == when_full::reject) return refuse(std::move(guard), s, i, given, has_room);
        if (policy_ == when_full::block && order != task_order::immediate
            && !serial_scope::is_beneath(this)) {
            try {
                return lane_is_full ? wait_for_lane(std::move(guard), s, given, i, has_room)
                                    : wait_for_room(std::move(guard), s, i);
            } catch (...) { // no memory to wait with
                if (has_room) return_room();
                given->abandon();
                throw;
            }
        }
        if (policy_ == when_full::block) {
            ++s.beyond;
            if (capacity_ != 0 && !has_room) {
                const std::lock_guard room(room_lock_);
                ++room_used_;
            }
        } else if (policy_ == when_full::drop_oldest && here.depth != 0) {
            drop_one(s, i, here, dropped);
        } else {
            ++s.dropped;
            lane_waiters woken;
            erase_if_unused(s, i, woken);
            unlock(guard, s);
            woken.complete(true);
            given->abandon();
            return outcome::accepted;
        }
    }
    trace::detail::moment(trace::kind::queued, given);
    const std::uint64_t number = s.posted + 1;
    append(s, i, here, given, (number & probe_mask_) == 0 ? time() : 0);
    const bool needs_drain = make_ready(s, i, here);
    guard.unlock();
    (void)dropped.abandon(); // its room is that of the new one
    return !needs_drain || give_drain(s, order, given) ? outcome::accepted : outcome::refused;
}

/// The oldest task that waits makes room.
void lanes_state::drop_one(lane_shard& s, lane::index i, lane& here, task_chain& dropped) noexcept {
    dropped.take_one(here);
    --here.depth;
    ++s.dropped;
    here.flags &= ~std::uint32_t{lane::has_own};
    if (!here.is(lane::has_probe)) return;
    lane_shard::probe& p = probe_of(s, i);
    if (p.ahead == (here.is(lane::has_one_out) ? 1U : 0U))
        end_probe(s, i, here);
    else
        --p.ahead;
}

lanes_state::outcome lanes_state::refuse(lock guard, lane_shard& s, lane::index i, task* given,
                                         bool has_room) {
    lane_waiters woken;
    ++s.rejected;
    erase_if_unused(s, i, woken);
    unlock(guard, s);
    if (has_room) return_room();
    woken.complete(true);
    given->abandon();
    return outcome::refused;
}

/// Waits until the thread that runs the lane has let the task in, or nobody will.
lanes_state::outcome lanes_state::wait_for_lane(lock guard, lane_shard& s, task* given, lane::index i,
                                                bool has_room) {
    lane_waiter me;
    me.where = i;
    me.given = given;
    future<bool> is_in = me.done.get_future();
    s.table.at(i).flags |= lane::has_waiters;
    s.waiters.push(me);
    lane_waiters woken;
    if (has_room) give_room(1, woken); // it comes in with the room of another one
    guard.unlock();                    // now the task may come in, run, and end the lanes
    woken.complete(true);
    const bool was_let_in = is_in.get();
    if (was_let_in) return outcome::accepted;
    given->abandon();
    return outcome::refused;
}

namespace {

/// The posts of a thread that wait for room in all lanes: the last one that has begun to.
struct room_waits {
    lane_waiter* top;
};

} // namespace

/// Waits until one task less is in the lanes: then its room is this one's.
lanes_state::outcome lanes_state::wait_for_room(lock guard, lane_shard& s, lane::index i) {
    lane_waiters woken;
    erase_if_unused(s, i, woken);
    unlock(guard, s);
    woken.complete(true);
    lane_waiter*& top = sys::local<room_waits>().top;
    for (;;) {
        lane_waiter me;
        future<bool> is_over = me.done.get_future();
        me.of = this;
        me.beneath = top;
        lane_waiter* own = top; // the next one of these lanes
        while (own != nullptr && own->of != this) own = own->beneath;
        {
            const std::lock_guard room(room_lock_);
            if (take_room()) return outcome::again;
            for (lane_waiter* w = top; w != nullptr; w = w->beneath) {
                if (w->of == this && std::exchange(w->has_room, false)) return outcome::again;
            }
            if (own != nullptr) own->above = &me;
            me.is_queued = true;
            room_wanted_.push(me);
        }
        top = &me;
        (void)is_over.get();
        top = me.beneath;
        const std::lock_guard room(room_lock_);
        if (own != nullptr) own->above = nullptr;
        if (me.has_room) return outcome::again; // unless one above has taken it
    }
}

bool lanes_state::wait_idle(lock guard, lane_shard& s, lane::index i, const wait_limit& limit) {
    if (i == lane::none) return unlock(guard, s), true;
    if (serial_scope::is_beneath(&s.table.at(i))) { // it goes on when this has returned
        unlock(guard, s);
        throw std::system_error(
            std::make_error_code(std::errc::resource_deadlock_would_occur),
            "ekiden: lanes::wait_idle in a function of the same lane, or in what that waits "
            "for");
    }
    lane_waiter me;
    me.where = i;
    future<bool> is_idle = me.done.get_future();
    s.table.at(i).flags |= lane::has_waiters;
    s.waiters.push(me);
    unlock(guard, s);
    if (is_idle.wait(limit)) return true;
    // The lane exists while a waiter lies in its shard: it is erased together with its waiters.
    guard.lock();
    const bool gave_up = s.waiters.remove(me);
    guard.unlock();
    if (gave_up) return false;
    // Another thread has taken the waiter out, and is about to complete it: it must stay until then.
    is_idle.wait(blocking);
    return true;
}

// ---- delays

void lanes_state::begin_probe(lane_shard& s, lane::index i, lane& here, std::uint32_t since) noexcept {
    for (lane_shard::probe& p : s.probes) {
        if (p.where != lane::none) continue;
        p = {i, here.depth - 1 + (here.is(lane::has_one_out) ? 1U : 0U), since};
        here.flags |= lane::has_probe;
        return;
    }
}

lane_shard::probe& lanes_state::probe_of(lane_shard& s, lane::index i) noexcept {
    return *std::find_if(s.probes.begin(), s.probes.end(),
                         [i](const lane_shard::probe& one) { return one.where == i; });
}

void lanes_state::end_probe(lane_shard& s, lane::index i, lane& here) noexcept {
    probe_of(s, i).where = lane::none;
    here.flags &= ~std::uint32_t{lane::has_probe};
}

} // namespace ekiden::inline EKIDEN_ABI
