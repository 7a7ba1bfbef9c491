/// The queue for tasks from outside: rings that many producer threads fill and many workers empty.
///
/// Part: queue. Used by: pool (one per priority), loop.
#pragma once

#include <ekiden/queue/circular_array.hpp>
#include <ekiden/queue/task.hpp>
#include <ekiden/sys/atomic.hpp>
#include <ekiden/sys/lock.hpp>
#include <ekiden/sys/mutant.hpp>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <span>

namespace ekiden::inline EKIDEN_ABI {

/// A ring with one producer at a time and any number of consumers. It grows, so a push never waits. Each
/// element is taken exactly once. Elements are taken in the order of the pushes.
class injection_ring {
public:
    /// `first_index` is the first index. Indices wrap around, and tests start them near the end.
    injection_ring(std::size_t capacity, std::uint64_t first_index);

    /// Producer: adds an element at the end. Throws std::bad_alloc if the ring cannot grow, and then has no
    /// effect.
    void push(task* element);

    /// Any thread: takes the oldest elements. Takes at most as many as `into` has room for, and at most one
    /// more than a `share`th of all. Returns their number.
    [[nodiscard]] std::size_t take(std::span<task*> into, std::size_t share) noexcept;

    /// Any thread: returns false if the ring was empty a moment ago. A hint: orders nothing.
    [[nodiscard]] bool maybe_filled() const noexcept {
        return head_.load(sys::relaxed) != tail_.load(sys::relaxed);
    }

    /// Any thread: returns how many elements have been pushed so far. Orders nothing.
    [[nodiscard]] std::uint64_t pushed() const noexcept { return tail_.load(sys::relaxed) - first_index_; }

private:
    using slots = circular_array<task>::slots;

    [[nodiscard, gnu::noinline]] slots* make_room(slots* here, std::uint64_t tail);

    alignas(sys::isolation) sys::atomic<std::uint64_t> head_; // the next index to take; written by consumers
    // The next index to push. The producer writes this member and the following ones.
    alignas(sys::isolation) sys::atomic<std::uint64_t> tail_;
    std::uint64_t head_seen_;
    circular_array<task> array_;
    const std::uint64_t first_index_;
};

/// A queue of tasks from any number of threads to any number of threads. Each producer thread has a number,
/// and pushes into the ring of that number under the ring's lock. Threads whose numbers are equal modulo the
/// number of rings share a ring. The tasks of one producer are taken in the order of its pushes.
///
/// Thread-safe, except the destructor. All tasks must have been taken before the destruction.
class injection_queue {
public:
    /// The default number of rings. While there are fewer producer threads, their locks are rarely contended.
    static constexpr unsigned most_rings = std::numeric_limits<std::uint32_t>::digits;

    /// Each push reads `gate`, and is refused while the gate has a bit of the push's `refused`. `capacity`, a
    /// power of two, is the size of a new ring. `first_index` and `rings` are for tests. Throws
    /// std::bad_alloc.
    explicit injection_queue(const sys::atomic<std::uint32_t>& gate, std::size_t capacity = 256,
                             std::uint64_t first_index = 0, unsigned rings = most_rings);

    /// Adds a task and calls `then()`, which must not throw. Returns false if the gate refuses the task.
    /// Throws std::bad_alloc, and then has no effect. When quiesce() has returned, a push that it has waited
    /// for no longer uses the queue or its owner.
    template <class Then>
    [[nodiscard]] bool push(task* element, std::uint32_t refused, Then&& then) {
        // In the child of a fork() the lock may be held by a thread that does not exist there.
        if (refuses(refused)) return false;
        producer_slot& here = slot_of_this_thread();
        const std::lock_guard guard(here.lock);
        // [IQ1] Under the lock: either quiesce() waits for this push, or this check sees the closed gate.
        if (refuses(refused) && !EKIDEN_MUTANT(queue_push_trusts_its_first_check)) return false;
        ring_of(here).push(element);
        then();
        return true;
    }
    [[nodiscard]] bool push(task* element, std::uint32_t refused) {
        return push(element, refused, [] {});
    }

    /// After the gate was closed: waits until each push that found the gate open has completed.
    void quiesce() noexcept;

    /// Takes the oldest tasks of one ring, like injection_ring::take(). Searches the rings from number
    /// `start` on. Returns the number of tasks, which is 0 if all rings are empty.
    [[nodiscard]] std::size_t take(std::size_t start, std::span<task*> into, std::size_t share) noexcept;

    /// Takes one task. Returns null if there is none.
    [[nodiscard]] task* take_one(std::size_t start) noexcept {
        task* found = nullptr;
        return take(start, {&found, 1}, 1) != 0 ? found : nullptr;
    }

    /// Returns false if the queue was empty a moment ago. A hint: orders nothing.
    [[nodiscard]] bool maybe_filled() const noexcept;

    /// Returns how many tasks have been pushed so far. Orders nothing.
    [[nodiscard]] std::uint64_t pushed() const noexcept;

private:
    struct alignas(sys::isolation) producer_slot {
        sys::slow_lock lock;                  // for producers
        std::unique_ptr<injection_ring> ring; // made by the first push, and never replaced
    };

    [[nodiscard]] bool refuses(std::uint32_t refused) const noexcept {
        return (gate_.load(sys::relaxed) & refused) != 0;
    }
    [[nodiscard]] producer_slot& slot_of_this_thread() noexcept;
    [[nodiscard]] injection_ring& ring_of(producer_slot& locked) {
        if (locked.ring == nullptr) [[unlikely]]
            make_ring(locked);
        return *locked.ring;
    }
    void make_ring(producer_slot& locked);

    /// Calls `visit(ring)` for each ring, from number `start` on, until a call returns true.
    template <class Visit>
    bool visit_rings(std::size_t start, Visit visit) const noexcept {
        // [IQ2] Acquire: the rings; pairs with the release in make_ring().
        const std::uint32_t made = made_.load(sys::acquire);
        const auto first = static_cast<int>(start % most_rings);
        for (std::uint32_t left = std::rotr(made, first); left != 0; left &= left - 1) {
            const auto number = static_cast<unsigned>(std::countr_zero(left) + first) % most_rings;
            if (visit(*slots_[number].ring)) return true;
        }
        return false;
    }

    const sys::atomic<std::uint32_t>& gate_;
    const std::size_t capacity_;
    const std::uint64_t first_index_;
    const unsigned rings_;
    sys::atomic<std::uint32_t> made_{0}; // bit i: there is a ring i
    std::array<producer_slot, most_rings> slots_;
};

} // namespace ekiden::inline EKIDEN_ABI
