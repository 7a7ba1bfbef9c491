/// The way into a pool or loop from outside: a ring per producer thread, emptied in the order of the pushes.
///
/// Part: queue. Used by: pool (one per priority), loop.
#pragma once

#include <ekiden/queue/circular_array.hpp>
#include <ekiden/queue/task.hpp>
#include <ekiden/sys/asymmetric_fence.hpp>
#include <ekiden/sys/atomic.hpp>
#include <ekiden/sys/lock.hpp>
#include <ekiden/sys/mutant.hpp>
#include <ekiden/sys/thread.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>

namespace ekiden::inline EKIDEN_ABI {

/// A ring with one producer at a time and any number of consumers. It grows; a push never waits. Elements
/// are taken exactly once, and in the order of the pushes.
class injection_ring {
public:
    /// `first_index` is where the indices start: they may wrap around, and tests start them just before.
    injection_ring(std::size_t capacity, std::uint64_t first_index);

    /// Producer: adds at the end. Throws std::bad_alloc if the ring cannot grow; then
    /// nothing has changed.
    void push(task* element);

    /// Any thread: takes the oldest elements, at most as many as `into` has room for, and at most one more
    /// than a `share`th of all. Returns how many.
    [[nodiscard]] std::size_t take(std::span<task*> into, std::size_t share) noexcept;

    /// Any thread: returns false if the ring was empty a moment ago. A hint: orders nothing.
    [[nodiscard]] bool maybe_filled() const noexcept {
        return head_.load(sys::relaxed) != tail_.load(sys::relaxed);
    }

    /// Any thread: how many elements have been pushed so far. Orders nothing.
    [[nodiscard]] std::uint64_t pushed() const noexcept { return tail_.load(sys::relaxed) - first_index_; }

private:
    using slots = circular_array<task>::slots;

    [[nodiscard, gnu::noinline]] slots* make_room(slots* here, std::uint64_t tail);

    alignas(sys::isolation) sys::atomic<std::uint64_t> head_; // next to take; written by consumers
    alignas(
        sys::isolation) sys::atomic<std::uint64_t> tail_; // next to push; this and the rest: by the producer
    std::uint64_t head_seen_;
    circular_array<task> array_;
    const std::uint64_t first_index_;
};

/// A queue of tasks from any number of threads to any number of threads. Each producer thread has a ring of
/// its own, up to `exclusive_rings` at a time; threads beyond that share one ring under a lock. A thread
/// keeps its ring until it ends; the next new thread takes the ring over. The tasks of one producer are
/// taken in the order of its pushes; but what it still pushes from destructors of thread_local objects,
/// after its ring has been passed on, goes to the shared ring and may come before the rest.
///
/// Thread-safe, but for the destructor. Outstanding tasks must have been taken before the destruction.
class injection_queue {
public:
    static constexpr std::size_t exclusive_rings = 63;

    /// `gate` is read on each push: while it has a bit of the push's `refused`, the push is refused.
    /// `capacity`, a power of two, is a new ring's size. `first_index` is where the rings' indices start, for
    /// tests. Throws std::bad_alloc.
    explicit injection_queue(const sys::atomic<std::uint32_t>& gate, std::size_t capacity = 256,
                             std::uint64_t first_index = 0);
    ~injection_queue();
    injection_queue(const injection_queue&) = delete;
    injection_queue& operator=(const injection_queue&) = delete;

    /// Adds a task and calls `then()`, which must not throw, or returns false if the gate refuses it. Throws
    /// std::bad_alloc; then nothing has changed. quiesce() waits for a push and what follows it: after that
    /// the call touches neither the queue nor anything else of its owner.
    template <class Then>
    [[nodiscard]] bool push(task* element, std::uint32_t refused, Then&& then) {
        const recent_inlets::entry& recent = sys::local<recent_inlets>().of(id_);
        if (recent.queue == id_ && !recent.where->shared) [[likely]]
            return push_into(*recent.where, element, refused, then);
        return push_elsewhere(element, refused,
                              {[](void* self) { (*static_cast<std::remove_reference_t<Then>*>(self))(); },
                               const_cast<void*>(static_cast<const void*>(&then))});
    }
    [[nodiscard]] bool push(task* element, std::uint32_t refused) {
        return push(element, refused, [] {});
    }

    /// After the gate was closed: waits until each push that found it open has put its task into the queue.
    void quiesce() noexcept;

    /// Takes the oldest tasks of one producer, of the rings from number `start` on, as
    /// injection_ring::take(). Returns how many, 0 if there are none.
    [[nodiscard]] std::size_t take(std::size_t start, std::span<task*> into, std::size_t share) noexcept;

    /// Takes one; null if there is none.
    [[nodiscard]] task* take_one(std::size_t start) noexcept {
        task* found = nullptr;
        return take(start, {&found, 1}, 1) != 0 ? found : nullptr;
    }

    /// False if the queue was empty a moment ago. A hint: orders nothing.
    [[nodiscard]] bool maybe_filled() const noexcept;

    /// How many tasks have been pushed so far. Orders nothing.
    [[nodiscard]] std::uint64_t pushed() const noexcept;

    /// Where one or several threads push. Shared by the queue and its producer thread; the last one frees it.
    struct alignas(sys::isolation) inlet {
        inlet(std::size_t capacity, std::uint64_t first_index, bool is_shared)
            : ring(capacity, first_index), shared(is_shared) {}

        injection_ring ring;
        sys::atomic<std::uint32_t> pushing{
            0};                            // 1 while a producer is between its look at the gate and the end
        sys::atomic<bool> taken{true};     // a living thread pushes here
        sys::atomic<bool> orphaned{false}; // the queue is gone
        sys::atomic<std::uint32_t> references{1}; // the queue and each thread that has the inlet
        const bool shared;
        sys::slow_lock lock; // for producers of a shared inlet

        void release() noexcept {
            // release: this side's use; acquire: the other side's, before the end.
            if (references.fetch_sub(1, sys::acq_rel) == 1) delete this;
        }
    };

    struct producer;
    /// The inlets that a thread used last, by the low bits of the queue's id; and all of them.
    struct recent_inlets {
        struct entry {
            std::uint64_t queue;
            inlet* where;
        };
        std::array<entry, 8> recent{};
        producer* all = nullptr;

        [[nodiscard]] entry& of(std::uint64_t id) noexcept { return recent[id % recent.size()]; }
    };

private:
    struct follow_up {
        void (*call)(void* self);
        void* self;
    };
    [[nodiscard, gnu::noinline]] bool push_elsewhere(task* element, std::uint32_t refused, follow_up then);

    template <class Then>
    [[nodiscard]] bool push_into(inlet& here, task* element, std::uint32_t refused, Then&& then) {
        struct announcement { // also when the ring cannot grow
            inlet& here;
            explicit announcement(inlet& i) noexcept : here(i) {
                here.pushing.store(EKIDEN_MUTANT(queue_push_unannounced) ? 0 : 1, sys::relaxed);
            }
            ~announcement() {
                // [IQ3] release: the push; pairs with the acquire in quiesce(). The queue may be gone
                // afterwards; the thread keeps the inlet.
                here.pushing.store(0, sys::release);
            }
        } const guard(here);
        // [IQ2] light: `pushing` before the look at the gate; pairs with the heavy fence in quiesce(). Either
        // the closer sees this push under way, or this sees the closed gate.
        sys::fence_light();
        if ((gate_.load(sys::relaxed) & refused) != 0) return false;
        here.ring.push(element);
        then();
        return true;
    }

    [[nodiscard]] inlet& inlet_of_this_thread();
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
