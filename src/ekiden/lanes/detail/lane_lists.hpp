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
class task;

/// A thread that waits until a lane is idle, or until there is room for its post. The object is on the stack
/// of the waiting thread.
struct lane_waiter {
    const lane* where = nullptr; ///< The lane; null if the thread waits for room in all lanes together.
    /// The task or claim of the post that waits for room. Null if the thread waits until the lane is idle.
    const task* queued = nullptr;
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
    /// Called when the task `left` has left the lane `where`, and `used` tasks wait there now. Moves the
    /// posts that continue to `released`. The post of `left` continues. The oldest other posts continue if
    /// there is room: fewer than `capacity` of the tasks that wait now have a post that has returned.
    void give_room(const lane* where, const task* left, std::size_t used, std::size_t capacity,
                   lane_waiters& released) noexcept;
    /// Moves all waiters of a lane to `released`.
    void release_all(const lane& where, lane_waiters& released) noexcept;
    /// Lets all waiting threads continue. The caller must not own a lock.
    void complete() noexcept;

private:
    template <class Condition>
    void move_if(Condition continues, lane_waiters& released) noexcept;

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
    /// Counts one task less, as in lane_waiters::give_room().
    void leave(const task& left, lane_waiters& released) noexcept;

private:
    const std::size_t capacity_; // 0 means no limit
    sys::slow_lock lock_;        // guards the members below
    std::size_t used_ = 0;
    lane_waiters waiters_;
};

} // namespace ekiden::inline EKIDEN_ABI
