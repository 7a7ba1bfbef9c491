/// The common base class of channels and buffers. This class has all forms of push and pop.
///
/// Part: sync. Used by: programs, through channel, bounded_buffer and watermark_buffer.
#pragma once

#include <ekiden/sync/queue_status.hpp>
#include <ekiden/sync/wait_limit.hpp>

#include <concepts>
#include <exception>
#include <optional>
#include <utility>

namespace ekiden::inline EKIDEN_ABI {

namespace detail {

/// The outcome of a push or a pop that runs as a step. A step runs once, in the thread that has called the
/// push or the pop, or in another thread that has made the step possible.
struct queue_step {
    std::exception_ptr error{};
    bool ended = false; ///< the queue is closed

    /// Returns the outcome of the step. Rethrows what a constructor of the item has thrown.
    [[nodiscard]] queue_status outcome() {
        if (error) [[unlikely]]
            std::rethrow_exception(std::move(error));
        return ended ? queue_status::closed : queue_status::done;
    }
};

/// Returns the status of an operation that has given up at `limit`.
[[nodiscard]] inline queue_status given_up(const wait_limit& limit) noexcept {
    return limit.stop().stop_requested() ? queue_status::stopped : queue_status::timed_out;
}

} // namespace detail

/// The pushes and pops of a queue. `Queue` is the derived class, and has these members:
///   push_step, pop_step
///       Classes derived from detail::queue_step, constructed from the queue and the item.
///   may_push, may_pop
///       The masks of the states of the lock in which a step may begin.
///   finish(states, step)
///       Waits until the step has run, and returns its outcome.
///   finish(states, step, limit)
///       Also gives up when the limit is reached.
///   finish_now(states, step)
///       Runs the step without waiting, or returns `would_wait`.
///
/// If the queue is closed, an operation returns the status `closed` instead of throwing an exception. No item
/// can be added to a closed queue. The items that are in the queue can still be removed.
template <class Queue, class T>
class queue_operations {
public:
    using value_type = T;

    /// Adds `item`. Waits while the queue is full. Gives up when `limit` is reached. Returns `done` if the
    /// item was added, and `closed` if the queue is closed. Returns `timed_out` or `stopped` if the limit was
    /// reached. If the result is not `done`, `item` is unchanged.
    [[nodiscard]] queue_status push(T&& item, const wait_limit& limit) {
        typename Queue::push_step step(self(), item);
        return self().finish(Queue::may_push, step, limit);
    }
    /// Adds `item` like push(item, limit), but without a limit.
    [[nodiscard]] queue_status push(T&& item) {
        typename Queue::push_step step(self(), item);
        return self().finish(Queue::may_push, step);
    }
    /// Adds `item` like push(item, limit), where the limit is a duration.
    [[nodiscard]] queue_status push_for(T&& item, const wait_duration& duration) {
        return push(std::move(item), duration);
    }
    /// Adds `item` like push(item, limit), where the limit is a deadline.
    [[nodiscard]] queue_status push_until(T&& item, const wait_deadline& deadline) {
        return push(std::move(item), deadline);
    }
    /// Adds `item` if this is possible without waiting. Returns `done`, `would_wait` or `closed`. If the
    /// result is not `done`, `item` is unchanged.
    [[nodiscard]] queue_status try_push(T&& item) {
        typename Queue::push_step step(self(), item);
        return self().finish_now(Queue::may_push, step);
    }

    /// Adds a copy of `item` like push(item, limit). The function makes the copy before it waits.
    [[nodiscard]] queue_status push(const T& item, const wait_limit& limit)
        requires std::copy_constructible<T>
    {
        return push(T(item), limit);
    }
    /// Adds a copy of `item` like push(item).
    [[nodiscard]] queue_status push(const T& item)
        requires std::copy_constructible<T>
    {
        return push(T(item));
    }
    /// Adds a copy of `item` like push_for(item, duration).
    [[nodiscard]] queue_status push_for(const T& item, const wait_duration& duration)
        requires std::copy_constructible<T>
    {
        return push(T(item), duration);
    }
    /// Adds a copy of `item` like push_until(item, deadline).
    [[nodiscard]] queue_status push_until(const T& item, const wait_deadline& deadline)
        requires std::copy_constructible<T>
    {
        return push(T(item), deadline);
    }
    /// Adds a copy of `item` like try_push(item).
    [[nodiscard]] queue_status try_push(const T& item)
        requires std::copy_constructible<T>
    {
        return try_push(T(item));
    }

    /// Removes the oldest item. Waits while the queue is empty. Gives up when `limit` is reached. Returns the
    /// item, or an empty result whose status gives the reason. The status is `closed` if the queue is closed
    /// and empty. The status is `timed_out` or `stopped` if the limit was reached.
    [[nodiscard]] popped<T> pop(const wait_limit& limit) {
        return popped<T>::from([&](std::optional<T>& item) {
            typename Queue::pop_step step(self(), item);
            return self().finish(Queue::may_pop, step, limit);
        });
    }
    /// Removes the oldest item like pop(limit), but without a limit.
    [[nodiscard]] popped<T> pop() {
        return popped<T>::from([&](std::optional<T>& item) {
            typename Queue::pop_step step(self(), item);
            return self().finish(Queue::may_pop, step);
        });
    }
    /// Removes the oldest item like pop(limit), where the limit is a duration.
    [[nodiscard]] popped<T> pop_for(const wait_duration& duration) { return pop(duration); }
    /// Removes the oldest item like pop(limit), where the limit is a deadline.
    [[nodiscard]] popped<T> pop_until(const wait_deadline& deadline) { return pop(deadline); }
    /// Removes the oldest item, if the queue has one, without waiting. Returns the item, or an empty result
    /// with the status `would_wait` or `closed`.
    [[nodiscard]] popped<T> try_pop() {
        return popped<T>::from([&](std::optional<T>& item) {
            typename Queue::pop_step step(self(), item);
            return self().finish_now(Queue::may_pop, step);
        });
    }

protected:
    queue_operations() = default;
    ~queue_operations() = default;

private:
    [[nodiscard]] Queue& self() noexcept { return static_cast<Queue&>(*this); }
};

} // namespace ekiden::inline EKIDEN_ABI
