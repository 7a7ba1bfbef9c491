#include <ekiden/lanes/detail/lane_lists.hpp>

#include <ekiden/sys/atomic.hpp>
#include <ekiden/sys/mutant.hpp>

#include <mutex>
#include <utility>

namespace ekiden::inline EKIDEN_ABI {

// ---- tasks. A lock guards the links, so all accesses to the links are relaxed.

void task_list::push(task* newest) noexcept {
    newest->begin_link();
    if (empty())
        oldest_ = newest;
    else
        newest_->next.store(newest, sys::relaxed);
    newest_ = newest;
}

task* task_list::pop() noexcept {
    task* const popped = oldest_;
    oldest_ = popped == newest_ ? nullptr : popped->next.load(sys::relaxed);
    popped->end_link();
    return popped;
}

void task_list::append(const task_list& later) noexcept {
    if (later.empty()) return;
    if (empty())
        oldest_ = later.oldest_;
    else
        newest_->next.store(later.oldest_, sys::relaxed);
    newest_ = later.newest_;
}

bool task_list::contains(const task* wanted) const noexcept {
    if (empty()) return false;
    for (const task* t = oldest_; t != wanted; t = t->next.load(sys::relaxed))
        if (t == newest_) return false;
    return true;
}

void task_list::abandon() noexcept {
    while (!empty()) pop()->abandon();
}

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

void lane_waiters::advance(const lane* where, std::uint32_t count, lane_waiters& released) noexcept {
    for (lane_waiter** link = &first_; *link != nullptr;) {
        lane_waiter& here = **link;
        const bool is_released =
            here.where == where && here.ahead <= count && !EKIDEN_MUTANT(lanes_release_no_waiter);
        if (is_released) {
            *link = here.next;
            released.push(here);
            continue;
        }
        if (here.where == where && here.ahead != lane_waiter::until_idle) here.ahead -= count;
        link = &here.next;
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
    waiting->ahead = static_cast<std::uint32_t>(used_ - capacity_);
    waiters_.push(*waiting);
    return true;
}

void shared_room::leave(std::uint32_t count, lane_waiters& released) noexcept {
    if (capacity_ == 0) return;
    const std::lock_guard guard(lock_);
    used_ -= count;
    waiters_.advance(nullptr, count, released);
}

} // namespace ekiden::inline EKIDEN_ABI
