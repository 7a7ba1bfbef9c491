/// The queue for tasks from outside a pool. Many producer threads push tasks into the rings of the queue, and
/// many workers take the tasks.
///
/// Part: queue. Used by: pool. A pool has one injection queue for each priority.
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

/// A ring for one producer at a time and any number of consumers. The ring grows, so a push never waits. Each
/// element is taken exactly once. Consumers take the elements in the order of the pushes.
class injection_ring {
public:
    /// Creates an empty ring. `first_index` is the index of the first element. Indices wrap around, so tests
    /// choose a first index near the end of the range.
    injection_ring(std::size_t capacity, std::uint64_t first_index);

    /// Producer: adds an element at the end. Throws std::bad_alloc if the ring cannot grow. A call that
    /// throws has no effect.
    void push(task* element);

    /// Any thread: takes the oldest elements, and returns their number. If the ring has n elements, takes at
    /// most n / `share` + 1 elements, and at most `into.size()` elements. Returns 0 if the ring is empty, or
    /// if another thread takes elements at the same time. A consumer that tried again at once would only meet
    /// the next consumer: with many consumers, almost every attempt would fail.
    [[nodiscard]] std::size_t take(std::span<task*> into, std::size_t share) noexcept;

    /// Any thread: returns how many elements the ring had a moment ago. The result is a hint, and the call
    /// orders nothing.
    [[nodiscard]] std::size_t size() const noexcept {
        const auto now = static_cast<std::int64_t>(tail_.load(sys::relaxed) - head_.load(sys::relaxed));
        return now > 0 ? static_cast<std::size_t>(now) : 0; // head_ may be the newer value
    }
    /// Any thread: returns size() != 0.
    [[nodiscard]] bool maybe_filled() const noexcept { return size() != 0; }

    /// Any thread: returns how many elements have been pushed so far. Orders nothing.
    [[nodiscard]] std::uint64_t pushed() const noexcept { return tail_.load(sys::relaxed) - first_index_; }

private:
    using slots = circular_array<task>::slots;

    [[nodiscard]] EKIDEN_NOINLINE slots* make_room(slots* here, std::uint64_t tail);

    alignas(sys::isolation) sys::atomic<std::uint64_t> head_; // The index of the oldest element.
    // The index at which the next push stores its element. The producer writes this member and the following
    // members.
    alignas(sys::isolation) sys::atomic<std::uint64_t> tail_;
    std::uint64_t head_seen_;
    circular_array<task> array_;
    const std::uint64_t first_index_;
};

/// A queue of tasks with any number of producers and consumers. Each producer thread has a number, which
/// selects the ring of the thread. The thread pushes its tasks into this ring under the ring's lock. Two
/// threads share a ring if their numbers are equal modulo the number of rings. The tasks of one producer are
/// taken in the order in which the producer pushed them.
///
/// All functions except the destructor are thread-safe. All tasks must have been taken before the queue is
/// destroyed.
class injection_queue {
public:
    /// The largest number of rings. This number is also the default. If there are fewer producer threads than
    /// rings, the locks of the rings are rarely contended.
    static constexpr unsigned most_rings = std::numeric_limits<std::uint32_t>::digits;

    /// Creates a queue without rings. Each push reads `gate`. The push refuses its task if a bit is set both
    /// in `gate` and in the argument `refused` of the push. `capacity` is the size of a new ring, a power of
    /// two. Only tests pass `first_index` and `rings`. Throws std::bad_alloc.
    explicit injection_queue(const sys::atomic<std::uint32_t>& gate, std::size_t capacity = 256,
                             std::uint64_t first_index = 0, unsigned rings = most_rings);

    /// Adds a task, and then calls `then()`, which must not throw. Returns false if the gate refuses the
    /// task. Throws std::bad_alloc. A call that throws has no effect. After quiesce() has waited for a push,
    /// that push no longer uses the queue or the owner of the queue.
    template <class Then>
    [[nodiscard]] bool push(task* element, std::uint32_t refused, Then&& then) {
        // Checks the gate before the lock is acquired, because in the child of a fork(), the lock may be held
        // by a thread that does not exist there.
        if (refuses(refused)) return false;
        const unsigned number = number_of_this_thread() % rings_;
        const std::lock_guard guard(locks_[number]);
        // [IQ1] This check is made under the lock. So either quiesce() waits for this push, or this check
        // sees that the gate is closed.
        if (refuses(refused) && !EKIDEN_MUTANT(queue_push_trusts_its_first_check)) return false;
        ring_of(number).push(element);
        then();
        return true;
    }
    [[nodiscard]] bool push(task* element, std::uint32_t refused) {
        return push(element, refused, [] {});
    }

    /// Called after the gate was closed. Waits until every push that has found the gate open has completed.
    void quiesce() noexcept;

    /// Takes the oldest tasks of one ring, like injection_ring::take(). Searches for a filled ring, beginning
    /// with ring number `start`. Returns the number of tasks. Returns 0 if each ring is empty, or loses its
    /// oldest tasks to another thread during the call.
    [[nodiscard]] std::size_t take(std::size_t start, std::span<task*> into, std::size_t share) noexcept;

    /// Takes one task. Returns null if take() returns 0.
    [[nodiscard]] task* take_one(std::size_t start) noexcept {
        task* found = nullptr;
        return take(start, {&found, 1}, 1) != 0 ? found : nullptr;
    }

    /// Returns how many tasks the queue had a moment ago, or a smaller number that is at least `most`. The
    /// result is a hint, and the call orders nothing.
    [[nodiscard]] std::size_t size(std::size_t most) const noexcept;
    /// Returns size(1) != 0.
    [[nodiscard]] bool maybe_filled() const noexcept { return size(1) != 0; }

    /// Returns how many tasks have been pushed so far. Orders nothing.
    [[nodiscard]] std::uint64_t pushed() const noexcept;

private:
    /// The lock of a ring, for producers. The pointer to the ring lies elsewhere, because all workers read
    /// it.
    struct alignas(sys::isolation) ring_lock : sys::slow_lock {};

    [[nodiscard]] bool refuses(std::uint32_t refused) const noexcept {
        return (gate_.load(sys::relaxed) & refused) != 0;
    }
    /// Returns the number of the calling thread among all threads that have ever pushed a task.
    [[nodiscard]] static std::uint32_t number_of_this_thread() noexcept;
    // The caller of the next two functions has the lock of ring `number`.
    [[nodiscard]] injection_ring& ring_of(unsigned number) {
        if (made_rings_[number] == nullptr) [[unlikely]]
            make_ring(number);
        return *made_rings_[number];
    }
    void make_ring(unsigned number);

    /// Calls `visit(ring)` for one ring after the other, until a call returns true. Begins with ring number
    /// `start`.
    template <class Visit>
    bool visit_rings(std::size_t start, Visit visit) const noexcept {
        // [IQ2] Acquire: sees the rings that were made. Pairs with the release in make_ring().
        const std::uint32_t made = made_.load(sys::acquire);
        const auto first = static_cast<int>(start % most_rings);
        for (std::uint32_t left = std::rotr(made, first); left != 0; left &= left - 1) {
            const auto number = static_cast<unsigned>(std::countr_zero(left) + first) % most_rings;
            if (visit(*made_rings_[number])) return true;
        }
        return false;
    }

    const sys::atomic<std::uint32_t>& gate_;
    const std::size_t capacity_;
    const std::uint64_t first_index_;
    const unsigned rings_;
    sys::atomic<std::uint32_t> made_{0}; // bit i is set if ring i exists
    // The first push under a lock makes the ring of the lock. A ring is never replaced.
    std::array<std::unique_ptr<injection_ring>, most_rings> made_rings_;
    std::array<ring_lock, most_rings> locks_;
};

} // namespace ekiden::inline EKIDEN_ABI
