/// A lock-free queue without a bound, in which several threads may push and pop at the same time.
///
/// Part: sync. Used by: channel.
///
/// The queue is a list of segments, as in the crate crossbeam-channel (flavors/list.rs). A push and a pop
/// acquire a position by one compare-exchange. ekiden differs from crossbeam in three points. A pop marks its
/// slot by a store, and the pop of the last slot frees the segment if all slots are marked. The pops remember
/// a lower bound of the tail, so most pops do not read the word that the pushes write. The pushes have a lock
/// if the move constructor of the items may throw.
#pragma once

#include <ekiden/sync/detail/queue_slot.hpp>
#include <ekiden/sys/atomic.hpp>
#include <ekiden/sys/back_off.hpp>
#include <ekiden/sys/clock.hpp>
#include <ekiden/sys/mutant.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

namespace ekiden::inline EKIDEN_ABI {

/// Returns the number of items of a segment whose slots have `slot_size` bytes. One less than a power of two.
[[nodiscard]] constexpr std::size_t segment_size(std::size_t slot_size) noexcept {
    constexpr std::size_t bytes = 2048;
    return std::bit_floor(std::clamp(bytes / slot_size, std::size_t{8}, std::size_t{128})) - 1;
}

/// An unbounded queue. An empty queue has one or two segments, and `Spares` unused segments at most.
///
/// Thread safety: all members may be called concurrently.
template <class T, std::size_t SegmentSize = segment_size(sizeof(queue_slot<T>) + alignof(T)),
          std::size_t Spares = 4>
class segment_queue {
    static constexpr bool is_nothrow = queue_slot<T>::is_nothrow;
    struct slot : queue_slot<T> {
        enum : std::uint8_t { unused, filled, read };
        sys::atomic<std::uint8_t> phase{unused};
    };
    struct segment {
        std::array<slot, SegmentSize> slots{};
        sys::atomic<segment*> next{nullptr};
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
        for (in = abandoned_.load(sys::relaxed); in != nullptr;)
            delete std::exchange(in, in->next.load(sys::relaxed));
        for (auto& spare : spares_) delete spare.load(sys::relaxed);
    }

    /// Adds `item`. Returns `done` or `closed`. Throws std::bad_alloc, or what the constructor of T throws.
    /// Has no effect if it throws.
    [[nodiscard]] taken_from push(T& item) {
        const std::lock_guard one_at_a_time(pushes_);
        sys::back_off others;
        unsigned pause = shortest_position_pause;
        std::unique_ptr<segment> following;
        std::uint64_t at = tail_.at.load(sys::acquire); // [CQ5]
        for (;;) {
            if ((at & closed) != 0) return taken_from::closed;
            // Relaxed: the segment of a position is stored before the position [CQ5]. The load may also
            // return a later segment, but then the compare-exchange fails.
            segment* const in = tail_.in.load(sys::relaxed);
            const std::size_t place = offset(at);
            if (place == SegmentSize) { // another push is about to add a segment
                others.wait();
                at = tail_.at.load(sys::acquire);
                continue;
            }
            if (place + 1 == SegmentSize && !following) following = make();
            const auto acquire = [&]() noexcept {
                // [CQ3] Sequentially consistent: precedes the check for waiters, see channel.md.
                if (!tail_.at.compare_exchange_strong(at, at + one, sys::seq_cst, sys::relaxed)) return false;
                if (place + 1 == SegmentSize) add(*in, following.release());
                return true;
            };
            const auto publish = [&]() noexcept {
                // [CQ1] Release: publishes the item. Pairs with the acquire in pop().
                in->slots[place].phase.store(slot::filled, sys::release);
            };
            if (in->slots[place].fill(item, acquire, publish)) return taken_from::done;
            pause = sys::growing_pause(pause, longest_position_pause);
            at = tail_.at.load(sys::acquire); // [CQ5]
        }
    }

    /// Removes the oldest item and stores it in `item`. Returns `none` if the queue is empty, and `closed` if
    /// the queue is also closed. If the constructor of T throws, the removed item is destroyed.
    [[nodiscard]] taken_from pop(std::optional<T>& item) noexcept(is_nothrow) {
        sys::back_off others;
        unsigned pause = shortest_position_pause;
        std::uint64_t at = head_.at.load(sys::acquire); // [CQ5]
        for (;;) {
            segment* const in = head_.in.load(sys::relaxed); // as in push()
            const std::size_t place = offset(at);
            if (place == SegmentSize) { // another pop is about to go to the next segment
                others.wait();
                at = head_.at.load(sys::acquire);
                continue;
            }
            // Every value of known_tail_ is a lower bound of the tail. [CQ8] Acquire: what another pop has
            // seen in the tail precedes this pop. So the segment of `at` was made before this pop.
            if (at >= known_tail_.load(sys::acquire)) {
                // [CQ3] Sequentially consistent: follows the mark of a waiting pop, see channel.md.
                const std::uint64_t end = tail_.at.load(sys::seq_cst);
                if ((end & ~closed) <= at) {
                    sweep();
                    return (end & closed) != 0 ? taken_from::closed : taken_from::none;
                }
                known_tail_.store(end & ~closed, sys::release); // [CQ8]
            }
            // [CQ9] Sequentially consistent: size() needs one order of all pushes and pops.
            if (!head_.at.compare_exchange_strong(at, at + one, sys::seq_cst, sys::relaxed)) {
                pause = sys::growing_pause(pause, longest_position_pause);
                at = head_.at.load(sys::acquire); // [CQ5]
                continue;
            }
            if (place + 1 == SegmentSize) go_on(*in, at);
            slot& from = in->slots[place];
            // [CQ1] Acquire: reads the item. Pairs with the release in push(). The loop waits only for a push
            // that has taken this position already.
            while (from.phase.load(sys::acquire) != slot::filled) others.wait();
            const auto free = [&]() noexcept {
                // [CQ6] Release: the last access of this pop to the segment, unless the slot is the last one.
                from.phase.store(slot::read, sys::release);
                if (place + 1 == SegmentSize)
                    leave(*in);
                else if (head_.in.load(sys::relaxed) != in) [[unlikely]]
                    sweep(); // This pop was slow. Relaxed: if it does not notice, a later pop sweeps.
            };
            from.empty_into(item, free);
            return taken_from::done;
        }
    }

    /// Refuses all later pushes.
    void close() noexcept {
        const std::lock_guard between_pushes(pushes_);
        // [CQ10] Release. Pairs with the acquires in is_closed() and in pop().
        tail_.at.fetch_or(closed, sys::release);
    }
    [[nodiscard]] bool is_closed() const noexcept {
        return (tail_.at.load(sys::acquire) & closed) != 0; // [CQ10]
    }

    /// Returns the number of items at some moment during the call.
    [[nodiscard]] std::size_t size() const noexcept {
        for (;;) {
            // [CQ9] Sequentially consistent. Pairs with the changes of the tail and of the head.
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
        for (auto& spare : spares_) {
            if (spare.load(sys::relaxed) == nullptr) continue;
            // [CQ7] Acquire: the segment is unused. Pairs with the release in retire().
            if (segment* const old = spare.exchange(nullptr, sys::acquire); old != nullptr)
                return std::unique_ptr<segment>(old);
        }
        return std::make_unique<segment>();
    }

    // Called by the push of the last slot of `in`. The pops see the next segment through the tail or through
    // known_tail_, before they use a position in it. So the links are relaxed.
    void add(segment& in, segment* following) noexcept {
        tail_.in.store(following, sys::relaxed);
        // [CQ5] Release: publishes the segment. The bit `closed` may be set at the same time.
        tail_.at.fetch_add(one, sys::release);
        in.next.store(following, sys::relaxed);
    }

    // Called by the pop of the last slot of `in`, whose position is `at`.
    void go_on(segment& in, std::uint64_t at) noexcept {
        sys::back_off others;
        segment* following = in.next.load(sys::relaxed);
        for (; following == nullptr; following = in.next.load(sys::relaxed)) others.wait();
        head_.in.store(following, sys::relaxed);
        // [CQ5] Release: publishes head_.in.
        head_.at.store(at + 2 * one, sys::release);
    }

    // Called by the pop of the last slot of `in`. If a slower pop still uses the segment, that pop or a later
    // one frees it. Such a pop must not access a flag in the segment, because the segment may be gone.
    void leave(segment& in) noexcept {
        sweep();
        if (is_read(in) || EKIDEN_MUTANT(segment_queue_frees_under_a_pop))
            retire(in);
        else
            abandon(in);
    }
    static bool is_read(const segment& in) noexcept {
        // [CQ6] Acquire: the last accesses of all pops precede. Pairs with the release in pop().
        return std::all_of(in.slots.begin(), in.slots.end(),
                           [](const slot& s) { return s.phase.load(sys::acquire) == slot::read; });
    }
    void abandon(segment& in) noexcept {
        segment* first = abandoned_.load(sys::relaxed); // is not accessed here
        do {
            in.next.store(first, sys::relaxed);
            // [CQ7] Release: publishes the link. Pairs with the acquire in sweep().
        } while (!abandoned_.compare_exchange_weak(first, &in, sys::release, sys::relaxed));
    }
    // Frees the abandoned segments that no pop uses any more.
    void sweep() noexcept {
        // Only a hint. Acquire keeps this load before later stores, which may cause the sweep of another pop.
        if (abandoned_.load(sys::acquire) == nullptr) return;
        // [CQ7] Acquire: reads the links. Pairs with the release in abandon(). Release: keeps the hint that
        // the pop was slow before this exchange.
        segment* in = abandoned_.exchange(nullptr, sys::acq_rel);
        while (in != nullptr) {
            segment& each = *std::exchange(in, in->next.load(sys::relaxed));
            if (is_read(each))
                retire(each);
            else
                abandon(each);
        }
    }
    void retire(segment& old) noexcept {
        for (auto& spare : spares_) {
            if (spare.load(sys::relaxed) != nullptr) continue;
            for (slot& each : old.slots) each.phase.store(slot::unused, sys::relaxed);
            old.next.store(nullptr, sys::relaxed);
            segment* expected = nullptr;
            // [CQ7] Release: the segment is unused. Pairs with the acquire in make().
            if (spare.compare_exchange_strong(expected, &old, sys::release, sys::relaxed)) return;
        }
        delete &old;
    }

    alignas(sys::isolation) queue_end head_;
    sys::atomic<std::uint64_t> known_tail_{0}; // in the cache line of the pops
    sys::atomic<segment*> abandoned_{nullptr}; // segments that slow pops use; linked by `next`
    alignas(sys::isolation) queue_end tail_;
    [[no_unique_address]] typename queue_slot<T>::lock_type pushes_;
    alignas(sys::isolation) std::array<sys::atomic<segment*>, Spares> spares_{};
};

} // namespace ekiden::inline EKIDEN_ABI
