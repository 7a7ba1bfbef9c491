/// The way into a pool from outside: a ring per producer thread, emptied by workers in batches.
///
/// Part: queue. Used by: pool (one per priority).
#pragma once

#include <ekiden/queue/circular_array.hpp>
#include <ekiden/queue/task.hpp>
#include <ekiden/sys/atomic.hpp>
#include <ekiden/sys/lock.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace ekiden::inline EKIDEN_ABI {

/// A ring with one producer at a time and any number of consumers. It grows; a push never waits. Elements
/// come out exactly once and are claimed in the order of the pushes.
class injection_ring {
public:
    injection_ring(std::size_t capacity, std::uint64_t first_index);

    /// Producer: adds at the end. Throws std::bad_alloc if the ring cannot grow; then
    /// nothing has changed.
    void push(task* element);

    /// Any thread: claims the oldest elements, up to half of what is there (rounded up) and to `out.size()`,
    /// and returns how many. 0 also when another thread was faster.
    [[nodiscard]] std::size_t claim(std::span<task*> out) noexcept;

    /// Any thread: false if the ring was empty a moment ago. A hint: orders nothing.
    [[nodiscard]] bool maybe_filled() const noexcept {
        return head_.load(sys::relaxed) != tail_.load(sys::relaxed);
    }

    /// Any thread: how many elements have been pushed so far. Orders nothing.
    [[nodiscard]] std::uint64_t pushed() const noexcept { return tail_.load(sys::relaxed) - first_index_; }

private:
    using slots = circular_array<task>::slots;

    [[nodiscard, gnu::noinline]] slots* make_room(slots* here, std::uint64_t tail);

    alignas(sys::isolation) sys::atomic<std::uint64_t> head_; // next to claim; written by consumers
    alignas(
        sys::isolation) sys::atomic<std::uint64_t> tail_; // next to push; this and the rest: by the producer
    std::uint64_t head_seen_;
    circular_array<task> array_;
    const std::uint64_t first_index_;
};

/// A queue of tasks from any number of threads to any number of threads. Each producer thread has a ring of
/// its own, up to `exclusive_rings` at a time; threads beyond that share one ring under a lock. A thread
/// keeps its ring until it ends; the next new thread takes the ring over. The tasks of one producer are
/// claimed in the order of its pushes; but what it still pushes from destructors of thread_local objects,
/// after its ring has been passed on, goes to the shared ring and may come before the rest.
///
/// Thread-safe, but for the destructor. Outstanding tasks must have been claimed before the destruction.
class injection_queue {
public:
    static constexpr std::size_t exclusive_rings = 63;

    /// `gate` is read on each push: while it has a bit of the push's `refused`, the push is refused.
    /// `capacity`, a power of two, is a new ring's size. `first_index` is where the rings' indices start, for
    /// tests.
    explicit injection_queue(const sys::atomic<std::uint32_t>& gate, std::size_t capacity = 256,
                             std::uint64_t first_index = 0) noexcept;
    ~injection_queue();
    injection_queue(const injection_queue&) = delete;
    injection_queue& operator=(const injection_queue&) = delete;

    /// What push() calls when the task is in the queue.
    struct follow_up {
        void (*call)(void* self) noexcept;
        void* self;
    };
    /// Adds a task and calls `then`, or returns false if the gate refuses it. Throws std::bad_alloc; then
    /// nothing has changed. quiesce() waits for a push and what follows it: after that the call touches
    /// neither the queue nor anything else of its owner.
    [[nodiscard]] bool push(task* element, std::uint32_t refused,
                            follow_up then = {[](void*) noexcept {}, nullptr});

    /// After the gate was closed: waits until each push that found it open has put its task into the queue.
    void quiesce() noexcept;

    /// Claims the oldest tasks of one producer, of the rings from number `start` on; see
    /// injection_ring::claim.
    [[nodiscard]] std::size_t claim(std::span<task*> out, std::size_t start) noexcept;

    /// False if the queue was empty a moment ago. A hint: orders nothing.
    [[nodiscard]] bool maybe_filled() const noexcept;

    /// How many tasks have been pushed so far. Orders nothing.
    [[nodiscard]] std::uint64_t pushed() const noexcept;

    /// Where one or several threads push. Shared by the queue and its producer thread; the last one frees it.
    struct inlet;

private:
    [[nodiscard]] inlet& inlet_of_this_thread();
    [[nodiscard, gnu::noinline]] inlet& find_inlet();
    [[nodiscard]] inlet& take_inlet();
    [[nodiscard]] inlet& shared_inlet();

    const sys::atomic<std::uint32_t>& gate_;
    const std::uint64_t id_; // never reused, unlike the address
    const std::size_t capacity_;
    const std::uint64_t first_index_;
    // inlets_[0] is the shared inlet, or null while nobody needs it; [1, count_) are exclusive ones. None is
    // ever removed.
    sys::atomic<std::size_t> count_{1};
    std::array<sys::atomic<inlet*>, exclusive_rings + 1> inlets_{};
    sys::slow_lock registration_;
};

} // namespace ekiden::inline EKIDEN_ABI
