/// Lists of waiting threads.
///
/// Part: lanes. Used by: lane_table, and lanes_state.
#pragma once

#include <ekiden/future/promise.hpp>
#include <ekiden/sys/lock.hpp>

#include <cstddef>
#include <cstdint>

namespace ekiden::inline EKIDEN_ABI {

struct lane;

/// A thread that waits until a lane is idle, or until there is room for its post. The object is on the stack
/// of the waiting thread.
struct lane_waiter {
    static constexpr std::uint32_t until_idle = ~std::uint32_t{0};

    const lane* where = nullptr; ///< The lane; null if the thread waits for room in all lanes together.
    /// The number of tasks that must be dequeued or dropped before this thread continues. `until_idle` means
    /// that the lane must become idle.
    std::uint32_t ahead = until_idle;
    lane_waiter* next = nullptr;
    promise<void> done;
    future<void> is_done = done.get_future();
};

/// A list of waiting threads, in the order of their arrival. The list has the size of one word.
class lane_waiters {
public:
    [[nodiscard]] bool empty() const noexcept { return first_ == nullptr; }
    void push(lane_waiter& last) noexcept;
    /// Removes a waiter. Returns false if the waiter is not in the list.
    [[nodiscard]] bool remove(const lane_waiter& gone) noexcept;
    /// Records that `count` tasks have left the lane `where`. The waiters that may continue are moved to
    /// `released`. If `count` is lane_waiter::until_idle, all waiters of the lane are moved.
    void advance(const lane* where, std::uint32_t count, lane_waiters& released) noexcept;
    /// Lets all waiting threads continue. The caller must not own a lock.
    void complete() noexcept;

private:
    lane_waiter* first_ = nullptr;
};

/// Counts the tasks that wait in all lanes, if the options limit the number of these tasks. Without a limit,
/// all functions do nothing.
///
/// Thread safety: all members may be called concurrently.
class shared_room {
public:
    explicit shared_room(std::size_t capacity) noexcept : capacity_(capacity) {}

    /// Counts one more task if there is room for the task. Returns whether there was room.
    [[nodiscard]] bool try_enter() noexcept;
    /// Counts one more task, even if there is no room for the task. If there is no room and `waiting` is not
    /// null, adds `waiting` to the list. Returns whether `waiting` has been added.
    bool enter(lane_waiter* waiting) noexcept;
    /// Subtracts `count` from the number of tasks. Waiters for which there is room now are moved to
    /// `released`.
    void leave(std::uint32_t count, lane_waiters& released) noexcept;

private:
    const std::size_t capacity_; // 0 means no limit
    sys::slow_lock lock_;        // guards the members below
    std::size_t used_ = 0;
    lane_waiters waiters_;
};

} // namespace ekiden::inline EKIDEN_ABI
