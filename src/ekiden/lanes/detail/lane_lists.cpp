#include <ekiden/lanes/detail/lane_lists.hpp>

#include <ekiden/sys/mutant.hpp>

#include <mutex>
#include <utility>

namespace ekiden::inline EKIDEN_ABI {

// ---- waiters

void lane_waiters::push(lane_waiter& last) noexcept {
    lane_waiter** link = &first_;
    while (*link != nullptr) link = &(*link)->next;
    last.next = nullptr;
    *link = &last;
}

bool lane_waiters::remove(const lane_waiter& gone) noexcept {
    for (lane_waiter** link = &first_; *link != nullptr; link = &(*link)->next) {
        if (*link != &gone) continue;
        *link = gone.next;
        return true;
    }
    return false;
}

void lane_waiters::give_room(const lane* where, const task* left, std::size_t used, std::size_t capacity,
                             lane_waiters& released) noexcept {
    std::size_t posts = 0; // the number of posts that wait, without the post of `left`
    for (const lane_waiter* w = first_; w != nullptr; w = w->next)
        if (w->where == where && w->queued != nullptr && w->queued != left) ++posts;
    move_if(
        [&](const lane_waiter& w) {
            if (w.where != where || w.queued == nullptr) return false;
            if (w.queued == left) return !EKIDEN_MUTANT(lanes_post_outlasts_its_function);
            const bool has_room = used < capacity + posts || EKIDEN_MUTANT(lanes_withdrawn_turn_gives_room);
            posts -= has_room ? 1U : 0U;
            return has_room;
        },
        released);
}

void lane_waiters::release_all(const lane& where, lane_waiters& released) noexcept {
    move_if([&](const lane_waiter& w) { return w.where == &where; }, released);
}

template <class Condition>
void lane_waiters::move_if(Condition continues, lane_waiters& released) noexcept {
    for (lane_waiter** link = &first_; *link != nullptr;) {
        lane_waiter& here = **link;
        if (continues(here) && !EKIDEN_MUTANT(lanes_release_no_waiter)) {
            *link = here.next;
            released.push(here);
        } else {
            link = &here.next;
        }
    }
}

void lane_waiters::complete() noexcept {
    while (first_ != nullptr) {
        lane_waiter& here = *std::exchange(first_, first_->next);
        promise<void> done = std::move(here.done); // set_value() may destroy the waiter
        done.set_value();
    }
}

// ---- room

bool shared_room::try_enter() noexcept {
    if (capacity_ == 0) return true;
    const std::lock_guard guard(lock_);
    if (used_ >= capacity_) return false;
    ++used_;
    return true;
}

bool shared_room::enter(lane_waiter* waiting) noexcept {
    if (capacity_ == 0) return false;
    const std::lock_guard guard(lock_);
    ++used_;
    if (used_ <= capacity_ || waiting == nullptr) return false;
    waiters_.push(*waiting);
    return true;
}

void shared_room::leave(const task& left, lane_waiters& released) noexcept {
    if (capacity_ == 0) return;
    const std::lock_guard guard(lock_);
    --used_;
    waiters_.give_room(nullptr, &left, used_, capacity_, released);
}

} // namespace ekiden::inline EKIDEN_ABI
