/// A lock-free queue of bounded capacity, in which several threads may push and pop at the same time.
///
/// Part: sync. Used by: channel.
///
/// The algorithm is the bounded MPMC queue of Vyukov (1024cores.net, 2010), in the form of the crate
/// crossbeam-channel (flavors/array.rs). Each slot has a stamp, which says whose turn it is to use the slot.
/// Every capacity is possible, because a position consists of an index and of the number of the lap. ekiden
/// adds a lock for the pushes of items whose move constructor may throw.
#pragma once

#include <ekiden/sync/detail/queue_slot.hpp>
#include <ekiden/sys/atomic.hpp>
#include <ekiden/sys/back_off.hpp>
#include <ekiden/sys/clock.hpp>
#include <ekiden/sys/mutant.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <utility>

namespace ekiden::inline EKIDEN_ABI {

/// A bounded queue. Thread safety: all members may be called concurrently.
template <class T>
class slot_ring {
    static constexpr bool is_nothrow = queue_slot<T>::is_nothrow;
    struct slot : queue_slot<T> {
        /// `position` if the push at this position comes next, and `position` + 1 if the pop comes next.
        sys::atomic<std::uint64_t> stamp{0};
    };

public:
    /// Constructs an empty queue. Throws std::bad_alloc.
    explicit slot_ring(std::size_t capacity)
        : capacity_(checked(capacity)), closed_(std::bit_ceil(std::uint64_t{capacity_} + 1)),
          slots_(std::make_unique<slot[]>(capacity_)) {
        for (std::size_t i = 0; i != capacity_; ++i) slots_[i].stamp.store(i, sys::relaxed);
    }
    slot_ring(const slot_ring&) = delete;
    slot_ring& operator=(const slot_ring&) = delete;
    /// Destroys the items.
    ~slot_ring() {
        std::uint64_t at = head_.load(sys::relaxed);
        const std::uint64_t end = tail_.load(sys::relaxed) & ~closed_;
        for (; at != end; at = after(at)) slots_[index(at)].drop();
    }

    /// Adds `item`. Returns `none` if the queue is full. Has no effect if the constructor of T throws.
    [[nodiscard]] taken_from push(T& item) noexcept(is_nothrow) {
        const std::lock_guard one_at_a_time(pushes_);
        sys::back_off others;
        unsigned pause = shortest_position_pause;
        std::uint64_t at = tail_.load(sys::relaxed);
        for (;;) {
            if ((at & closed_) != 0) return taken_from::closed;
            slot& place = slots_[index(at)];
            // [CQ2] Acquire: the slot is free. Pairs with the release in pop().
            const std::uint64_t stamp = place.stamp.load(sys::acquire);
            if (stamp == at) {
                const auto acquire = [&]() noexcept {
                    // [CQ3] Sequentially consistent: precedes the check for waiters, see channel.md.
                    return tail_.compare_exchange_strong(at, after(at), sys::seq_cst, sys::relaxed);
                };
                const auto publish = [&]() noexcept {
                    // [CQ1] Release: publishes the item. Pairs with the acquire in pop().
                    place.stamp.store(at + 1, sys::release);
                };
                if (place.fill(item, acquire, publish)) return taken_from::done;
                pause = sys::growing_pause(pause, longest_position_pause);
                at = tail_.load(sys::relaxed);
                continue;
            }
            // [CQ4] Sequentially consistent: follows the mark of a waiting push, see channel.md.
            if (stamp + one_lap() == at + 1 && head_.load(sys::seq_cst) + one_lap() == at)
                return taken_from::none;
            // The position is outdated, or a pop has taken this position and has not freed the slot yet.
            const std::uint64_t now = tail_.load(sys::relaxed);
            if (now == at) others.wait();
            at = now;
        }
    }

    /// Removes the oldest item and stores it in `item`. Returns `none` if the queue is empty, and `closed` if
    /// the queue is also closed. If the constructor of T throws, the removed item is destroyed.
    [[nodiscard]] taken_from pop(std::optional<T>& item) noexcept(is_nothrow) {
        sys::back_off others;
        unsigned pause = shortest_position_pause;
        std::uint64_t at = head_.load(sys::relaxed);
        for (;;) {
            slot& place = slots_[index(at)];
            // [CQ1] Acquire: reads the item. Pairs with the release in push().
            const std::uint64_t stamp = place.stamp.load(sys::acquire);
            if (stamp == at + 1) {
                // [CQ4] Sequentially consistent: precedes the check for waiters, see channel.md.
                if (!head_.compare_exchange_strong(at, after(at), sys::seq_cst, sys::relaxed)) {
                    pause = sys::growing_pause(pause, longest_position_pause);
                    at = head_.load(sys::relaxed);
                    continue;
                }
                const auto free = [&]() noexcept {
                    // [CQ2] Release: frees the slot. Pairs with the acquire in push().
                    place.stamp.store(at + one_lap(), sys::release);
                };
                place.empty_into(item, free);
                return taken_from::done;
            }
            if (stamp == at) {
                // [CQ3] Sequentially consistent: follows the mark of a waiting pop, see channel.md.
                const std::uint64_t end = tail_.load(sys::seq_cst);
                if ((end & ~closed_) == at)
                    return (end & closed_) != 0 ? taken_from::closed : taken_from::none;
            }
            // The position is outdated, or a push has taken this position and has not filled the slot yet.
            const std::uint64_t now = head_.load(sys::relaxed);
            if (now == at) others.wait();
            at = now;
        }
    }

    /// Refuses all later pushes.
    void close() noexcept {
        const std::lock_guard between_pushes(pushes_);
        // [CQ10] Release. Pairs with the acquires in is_closed() and in pop().
        tail_.fetch_or(closed_, sys::release);
    }
    [[nodiscard]] bool is_closed() const noexcept {
        return (tail_.load(sys::acquire) & closed_) != 0; // [CQ10]
    }

    [[nodiscard]] std::size_t capacity() const noexcept { return capacity_; }
    /// Returns the number of items at some moment during the call.
    [[nodiscard]] std::size_t size() const noexcept {
        for (;;) {
            // [CQ9] Sequentially consistent. Pairs with the changes of the tail and of the head.
            const std::uint64_t end = tail_.load(sys::seq_cst) & ~closed_;
            const std::uint64_t begin = head_.load(sys::seq_cst);
            if ((tail_.load(sys::seq_cst) & ~closed_) != end) continue;
            const std::size_t first = index(begin);
            const std::size_t last = index(end);
            if (first < last) return last - first;
            if (first > last) return capacity_ - first + last;
            return begin == end ? 0 : capacity_;
        }
    }

private:
    static std::size_t checked(std::size_t capacity) {
        if (capacity > std::numeric_limits<std::size_t>::max() / 4 / sizeof(slot)) throw std::bad_alloc();
        return capacity;
    }
    // A position consists of the index of a slot, the bit closed_, which is only set in tail_, and the number
    // of the lap.
    std::size_t index(std::uint64_t at) const noexcept {
        return static_cast<std::size_t>(at & (closed_ - 1));
    }
    std::uint64_t one_lap() const noexcept { return closed_ << 1; }
    std::uint64_t after(std::uint64_t at) const noexcept {
        return index(at) + 1 < capacity_ ? at + 1 : (at & ~(one_lap() - 1)) + one_lap();
    }

    const std::size_t capacity_;
    const std::uint64_t closed_;
    const std::unique_ptr<slot[]> slots_;
    alignas(sys::isolation) sys::atomic<std::uint64_t> head_{0}; // the position of the next pop
    alignas(sys::isolation) sys::atomic<std::uint64_t> tail_{0}; // the position of the next push
    [[no_unique_address]] typename queue_slot<T>::lock_type pushes_;
};

} // namespace ekiden::inline EKIDEN_ABI
