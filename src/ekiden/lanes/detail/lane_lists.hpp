/// Lists of tasks, and of threads that wait.
///
/// Part: lanes. Used by: lane_table, lanes_state.
#pragma once

#include <ekiden/future/promise.hpp>
#include <ekiden/queue/task.hpp>
#include <ekiden/sys/lock.hpp>

#include <cstddef>
#include <cstdint>

namespace ekiden::inline EKIDEN_ABI {

/// Tasks, oldest first. They form a ring: the newest task links to the oldest one. The list takes one word.
class task_ring {
public:
    [[nodiscard]] bool empty() const noexcept { return newest_ == nullptr; }
    void push(task* newest) noexcept;
    /// Takes the oldest task out. The list must not be empty.
    [[nodiscard]] task* pop() noexcept;
    /// Appends all tasks of another list.
    void append(task_ring later) noexcept;
    [[nodiscard]] bool contains(const task* wanted) const noexcept;
    /// Abandons all tasks, oldest first. Must not be called under a lock.
    void abandon() noexcept;

private:
    task* newest_ = nullptr;
};

struct lane;

/// A thread that waits until a lane is idle, or until its post has room. Lies on the stack of the thread.
struct lane_waiter {
    static constexpr std::uint32_t until_idle = ~std::uint32_t{0};

    const lane* where = nullptr; ///< the lane, or null: all lanes
    /// How many tasks must leave before this thread continues. With `until_idle`, the lane must become idle.
    std::uint32_t ahead = until_idle;
    lane_waiter* next = nullptr;
    promise<void> done;
    future<void> is_done = done.get_future();
};

/// Waiting threads in the order of their arrival. The list takes one word.
class lane_waiters {
public:
    [[nodiscard]] bool empty() const noexcept { return first_ == nullptr; }
    void push(lane_waiter& last) noexcept;
    /// Removes a waiter. Returns false if it is not in the list.
    [[nodiscard]] bool remove(const lane_waiter& gone) noexcept;
    /// `count` tasks have left the lane `where`. Moves the waiters that may continue to `released`. With
    /// lane_waiter::until_idle, these are all waiters of the lane.
    void advance(const lane* where, std::uint32_t count, lane_waiters& released) noexcept;
    /// Lets all threads continue. Must not be called under a lock.
    void complete() noexcept;

private:
    lane_waiter* first_ = nullptr;
};

/// Counts the tasks that wait in all lanes, if their number is limited. Otherwise it does nothing.
///
/// Thread safety: all members may be called concurrently.
class shared_room {
public:
    explicit shared_room(std::size_t capacity) noexcept : capacity_(capacity) {}

    /// Counts one more task if there is room for it. Returns whether there was.
    [[nodiscard]] bool try_enter() noexcept;
    /// Counts one more task in any case. If there is no room for it, lists `waiting`, which may be null.
    /// Returns whether it is listed now.
    bool enter(lane_waiter* waiting) noexcept;
    /// `count` tasks have left. Moves the waiters that have room now to `released`.
    void leave(std::uint32_t count, lane_waiters& released) noexcept;

private:
    const std::size_t capacity_; // 0: no limit
    sys::slow_lock lock_;        // guards what follows
    std::size_t used_ = 0;
    lane_waiters waiters_;
};

} // namespace ekiden::inline EKIDEN_ABI
