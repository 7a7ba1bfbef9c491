/// A lane, and the tasks that it contains.
///
/// Part: lanes. Used by: lane_table, lane_request, and lanes_state.
#pragma once

#include <ekiden/queue/task.hpp>
#include <ekiden/queue/task_list.hpp>
#include <ekiden/sys/atomic.hpp>

#include <cstdint>
#include <utility>

namespace ekiden::inline EKIDEN_ABI {

struct lane;
struct lane_shard;

/// The part of a key's hash that the table uses.
using lane_hash = std::uint32_t;
constexpr std::uint64_t lane_hash_mask = 0x7fffffff; // keyed_task uses one bit for another purpose

/// A task of a lane. A derived class adds the key, or the lane.
struct keyed_task : task {
    keyed_task(task::function answer, std::uint64_t mixed, bool knows_lane = false) noexcept
        : task(answer), hash(mixed & lane_hash_mask), has_lane(knows_lane ? 1 : 0) {}

    const std::uint32_t hash : 31;    // undefined if has_lane is set, except in a lane_task
    const std::uint32_t has_lane : 1; // 1 if the task contains a pointer to its lane, and no key
    std::uint32_t when = 0; // the result of lanes_state::time() at the post; 0 if no delay is measured
};

/// A task that was posted by a handle of its lane.
struct lane_task : keyed_task {
    /// If `stays` is true, lanes_state::close() does not abandon the task.
    lane_task(task::function answer, lane& in, bool stays = false) noexcept
        : keyed_task(answer, stays ? 1 : 0, true), where(&in) {}
    [[nodiscard]] bool stays_at_close() const noexcept { return hash != 0; }

    lane* const where;
};

/// The lane of a handle.
struct known_lane {
    lane_shard* shard = nullptr;
    lane* where = nullptr;
};

/// Something that a drain can run: a lane, or a request with several keys.
struct runnable {
    explicit runnable(bool several) noexcept : is_request(several) {}

    runnable* next_ready = nullptr; ///< the next element of a ready_list, or of another list
    const bool is_request;
    bool is_ready = false; ///< true if the lane is in its shard's list of ready lanes
};

/// A list of lanes and requests that drains can run, in the order in which they became ready.
class ready_list {
public:
    [[nodiscard]] bool empty() const noexcept { return first_ == nullptr; }
    [[nodiscard]] runnable* first() const noexcept { return first_; }
    void push(runnable& last) noexcept {
        last.is_ready = true;
        last.next_ready = nullptr;
        (empty() ? first_ : last_->next_ready) = &last;
        last_ = &last;
    }
    /// Removes the first element. The list must not be empty.
    [[nodiscard]] runnable& pop() noexcept {
        runnable& popped = *std::exchange(first_, first_->next_ready);
        popped.is_ready = false;
        return popped;
    }
    /// Appends all elements of another list.
    void append(const ready_list& later) noexcept {
        if (later.empty()) return;
        (empty() ? first_ : last_->next_ready) = later.first_;
        last_ = later.last_;
    }
    /// Moves the element behind `before` to the front.
    void move_to_front(runnable& before) noexcept {
        runnable& moved = *before.next_ready;
        before.next_ready = moved.next_ready;
        if (last_ == &moved) last_ = &before;
        moved.next_ready = std::exchange(first_, &moved);
    }
    /// Removes an element, which must be in the list.
    void remove(runnable& gone) noexcept {
        if (first_ != &gone) {
            runnable* before = first_;
            while (before->next_ready != &gone) before = before->next_ready;
            move_to_front(*before);
        }
        (void)pop();
    }

private:
    runnable* first_ = nullptr;
    runnable* last_ = nullptr; // undefined if the list is empty
};

/// A lane. A derived class adds the key. A lane exists while it has tasks, is in use, or has handles.
struct lane : runnable {
    explicit lane(lane_hash of_key) noexcept : runnable(false), hash(of_key) {}

    /// Returns whether the lane has no tasks, is not ready and is not in use. If it has no handles either, it
    /// may be erased.
    [[nodiscard]] bool is_unused() const noexcept { return tasks.is_empty() && !is_ready && !is_in_use(); }
    /// Returns whether a thread runs tasks of the lane, or requests with several keys have the lane.
    [[nodiscard]] bool is_in_use() const noexcept { return is_running || is_taken(); }
    [[nodiscard]] bool is_taken() const noexcept { return is_held || (readers != 0 && !is_running); }
    /// Returns the size of the running batch; 0 if a capacity is set.
    [[nodiscard]] std::uint32_t dequeued() const noexcept { return is_running ? readers : 0; }

    // The flags lie in the padding of the base class.
    bool is_held = false;                ///< true if one request has the lane alone
    bool is_running = false;             ///< true if a thread runs tasks of the lane
    bool is_resting = false;             ///< true if the lane is unused, and exists for its handles
    bool has_waiters = false;            ///< true if threads may wait for the lane
    sys::atomic<bool> is_closed = false; ///< true if the lane accepts no tasks until it is idle
    const lane_hash hash;
    std::uint32_t waiting = 0; ///< the number of elements of `tasks`
    task_list tasks;           ///< the waiting tasks and claims
    lane* chain = nullptr;     ///< the next lane of the bucket; after remove(), other lists use this link
    /// The number of requests that share the lane. No request shares a lane that is running. In such a lane,
    /// this member is the size of the running batch.
    std::uint32_t readers = 0;
    /// The number of handles. Changes from and to 0 only under the lock of the shard.
    sys::atomic<std::uint32_t> handles{0};
};

} // namespace ekiden::inline EKIDEN_ABI
