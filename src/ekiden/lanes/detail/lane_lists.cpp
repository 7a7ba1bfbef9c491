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
