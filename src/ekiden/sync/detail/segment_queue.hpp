/// A lock-free queue without a bound, in which several threads may push and pop at the same time.
///
/// Part: sync. Used by: channel.
///
/// The queue is a list of segments, as in the crate crossbeam-channel (flavors/list.rs). A push and a pop
/// take a position by one compare-exchange. ekiden differs from crossbeam in two points. Each segment counts
/// its finished pops, and the last of them frees the segment. The pops remember a lower bound of the tail, so
/// that most pops do not read the word that the pushes write.
#pragma once

#include <ekiden/sync/detail/queue_slot.hpp>
#include <ekiden/sys/atomic.hpp>
#include <ekiden/sys/back_off.hpp>
#include <ekiden/sys/clock.hpp>
#include <ekiden/sys/mutant.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

namespace ekiden::inline EKIDEN_ABI {

/// An unbounded queue. An empty queue has one or two segments, and one spare segment at most.
///
/// Thread safety: all members may be called concurrently.
template <class T, std::size_t SegmentSize = 63>
class segment_queue {
    struct slot : queue_slot<T> {
        sys::atomic<bool> is_filled{false};
    };
    struct segment {
        std::array<slot, SegmentSize> slots{};
        sys::atomic<segment*> next{nullptr};
        alignas(sys::isolation) sys::atomic<std::uint32_t> left{SegmentSize}; // unfinished pops
    };

public:
    /// Constructs an empty queue. Throws std::bad_alloc.
    segment_queue() {
        auto* const first = new segment;
        head_.in.store(first, sys::relaxed);
        tail_.in.store(first, sys::relaxed);
    }
    segment_queue(const segment_queue&) = delete;
    segment_queue& operator=(const segment_queue&) = delete;
    /// Destroys the items.
    ~segment_queue() {
        std::uint64_t at = head_.at.load(sys::relaxed);
        const std::uint64_t end = tail_.at.load(sys::relaxed) & ~closed;
        segment* in = head_.in.load(sys::relaxed);
        for (; at != end; at += one) {
            if (offset(at) == SegmentSize)
                delete std::exchange(in, in->next.load(sys::relaxed));
            else
                in->slots[offset(at)].drop();
        }
        delete in;
        delete spare_.load(sys::relaxed);
    }

    /// Adds `item`. Returns `done` or `closed`. Throws std::bad_alloc, or what the constructor of T throws.
    /// The queue then contains no new item.
    [[nodiscard]] taken_from push(T& item) {
        sys::back_off others;
        std::unique_ptr<segment> following;
        std::uint64_t at = tail_.at.load(sys::acquire);
        for (;;) {
            if ((at & closed) != 0) return taken_from::closed;
            // [CQ5] Acquire: the segment of a position is stored before the position. A value that does not
            // belong to `at` is not used, because the compare-exchange fails.
            segment* const in = tail_.in.load(sys::acquire);
            const std::size_t place = offset(at);
            if (place == SegmentSize) { // another push is about to add a segment
                others.wait();
                at = tail_.at.load(sys::acquire);
                continue;
            }
            if (place + 1 == SegmentSize && !following) following = make();
            // [CQ3] Sequentially consistent: precedes the check for waiters, see channel.md. Acquire: reads
            // the segment.
            if (!tail_.at.compare_exchange_weak(at, at + one, sys::seq_cst, sys::acquire)) continue;
            if (place + 1 == SegmentSize) add(*in, following.release());
            in->slots[place].fill(item, [&]() noexcept {
                // [CQ1] Release: publishes the item. Pairs with the acquire in pop().
                in->slots[place].is_filled.store(true, sys::release);
            });
            return taken_from::done;
        }
    }

    /// Removes the oldest item and stores it in `item`. Returns `none` if the queue is empty, and `closed` if
    /// the queue is also closed. If the constructor of T throws, the removed item is destroyed.
    [[nodiscard]] taken_from pop(std::optional<T>& item) noexcept(queue_slot<T>::is_nothrow) {
        sys::back_off others;
        std::uint64_t at = head_.at.load(sys::acquire);
        for (;;) {
            // [CQ5] Acquire: as in push().
            segment* const in = head_.in.load(sys::acquire);
            const std::size_t place = offset(at);
            if (place == SegmentSize) { // another pop is about to go to the next segment
                others.wait();
                at = head_.at.load(sys::acquire);
                continue;
            }
            // Relaxed is enough, because every value of known_tail_ is a lower bound of the tail.
            if (at >= known_tail_.load(sys::relaxed)) {
                // [CQ3] Sequentially consistent: follows the mark of a waiting pop, see channel.md.
                const std::uint64_t end = tail_.at.load(sys::seq_cst);
                if ((end & ~closed) <= at) return (end & closed) != 0 ? taken_from::closed : taken_from::none;
                known_tail_.store(end & ~closed, sys::relaxed);
            }
            if (!head_.at.compare_exchange_weak(at, at + one, sys::acq_rel, sys::acquire)) continue;
            if (place + 1 == SegmentSize) go_on(*in, at);
            slot& from = in->slots[place];
            // [CQ1] Acquire: reads the item. Pairs with the release in push(). The loop waits only for a push
            // that has taken this position already.
            while (!from.is_filled.load(sys::acquire)) others.wait();
            if (from.empty_into(item, [&]() noexcept { finish(*in); })) return taken_from::done;
            at = head_.at.load(sys::acquire);
        }
    }

    /// Refuses all later pushes.
    void close() noexcept { tail_.at.fetch_or(closed, sys::seq_cst); }
    [[nodiscard]] bool is_closed() const noexcept { return (tail_.at.load(sys::acquire) & closed) != 0; }

    /// Returns the number of items at some moment during the call.
    [[nodiscard]] std::size_t size() const noexcept {
        for (;;) {
            const std::uint64_t end = tail_.at.load(sys::seq_cst) & ~closed;
            const std::uint64_t begin = head_.at.load(sys::seq_cst);
            if ((tail_.at.load(sys::seq_cst) & ~closed) == end) return count(end) - count(begin);
        }
    }

private:
    // A position is a number that is multiplied by 2. The lowest bit of tail_.at says whether the queue is
    // closed. A lap has one position more than a segment has slots. While the tail or the head is at this
    // position, a thread moves it to the next segment.
    static constexpr std::uint64_t closed = 1;
    static constexpr std::uint64_t one = 2;
    static constexpr std::uint64_t lap = SegmentSize + 1;

    struct queue_end {
        sys::atomic<std::uint64_t> at{0};
        sys::atomic<segment*> in{nullptr};
    };

    static std::size_t offset(std::uint64_t at) noexcept { return static_cast<std::size_t>((at >> 1) % lap); }
    static std::size_t count(std::uint64_t at) noexcept {
        const std::uint64_t number = at >> 1;
        return static_cast<std::size_t>(number / lap * SegmentSize + number % lap);
    }

    std::unique_ptr<segment> make() {
        // [CQ6] Acquire: the segment is unused. Pairs with the release in finish().
        if (spare_.load(sys::relaxed) != nullptr) {
            if (segment* const old = spare_.exchange(nullptr, sys::acquire); old != nullptr)
                return std::unique_ptr<segment>(old);
        }
        return std::make_unique<segment>();
    }

    // Called by the push of the last slot of `in`.
    void add(segment& in, segment* following) noexcept {
        tail_.in.store(following, sys::release);
        // [CQ5] Release: publishes the segment. The bit `closed` may be set at the same time.
        tail_.at.fetch_add(one, sys::release);
        // [CQ5] Release: publishes the segment. Pairs with the acquire in go_on().
        in.next.store(following, sys::release);
    }

    // Called by the pop of the last slot of `in`, whose position is `at`.
    void go_on(segment& in, std::uint64_t at) noexcept {
        sys::back_off others;
        segment* following = in.next.load(sys::acquire);
        for (; following == nullptr; following = in.next.load(sys::acquire)) others.wait();
        head_.in.store(following, sys::release);
        head_.at.store(at + 2 * one, sys::release);
    }

    // Called at the end of each pop.
    void finish(segment& in) noexcept {
        // [CQ6] Release: the last access of this pop. Acquire: the accesses of the other pops precede.
        if (in.left.fetch_sub(1, sys::acq_rel) != 1) return;
        retire(&in);
    }
    void retire(segment* old) noexcept {
        if (spare_.load(sys::relaxed) == nullptr) {
            for (slot& each : old->slots) each.is_filled.store(false, sys::relaxed);
            old->next.store(nullptr, sys::relaxed);
            old->left.store(SegmentSize, sys::relaxed);
            segment* expected = nullptr;
            // [CQ6] Release: the segment is unused.
            if (spare_.compare_exchange_strong(expected, old, sys::release, sys::relaxed)) return;
        }
        delete old;
    }

    alignas(sys::isolation) queue_end head_;
    sys::atomic<std::uint64_t> known_tail_{0}; // in the cache line of the pops
    alignas(sys::isolation) queue_end tail_;
    sys::atomic<segment*> spare_{nullptr};
};

} // namespace ekiden::inline EKIDEN_ABI
