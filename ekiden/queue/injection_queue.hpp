/// The way into a pool from outside: a ring per producer thread, emptied by workers in the order of the
/// pushes.
///
/// Part: queue. Used by: pool (one per priority).
#pragma once

#include <ekiden/queue/circular_array.hpp>
#include <ekiden/queue/ring_lease.hpp>
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
/// come out exactly once, each after all that were pushed before it.
///
/// A consumer takes one element, or takes one and leases the next ones: see ring_lease. Nothing is leased,
/// and nothing behind a lease is taken, before the last lease has been used up.
class injection_ring {
public:
    /// `first_index` is where the indices start, for tests.
    injection_ring(std::size_t capacity, std::uint64_t first_index, unsigned number = 0);

    /// Producer: adds at the end. Throws std::bad_alloc if the ring cannot grow; then
    /// nothing has changed.
    void push(task* element);

    /// Any thread: takes the oldest element, or null if the ring is empty or others have a lease. `leases`
    /// are those of all consumers.
    [[nodiscard]] task* take_one(std::span<ring_lease> leases) noexcept { return take(leases, 0, 1); }

    /// Consumer `me`, when nothing is left of its lease: as take_one(), and leases the next elements; null
    /// also if another thread was faster.
    [[nodiscard]] task* take_and_lease(std::span<ring_lease> leases, std::size_t me) noexcept {
        return take(leases, me, 1 + ring_lease::longest);
    }

    /// Consumer `me`: takes the oldest element of another consumer's lease, or null if there is none.
    [[nodiscard]] task* steal(std::span<ring_lease> leases, std::size_t me) noexcept;

    /// Any thread: false if the ring was empty a moment ago. A hint: orders nothing.
    [[nodiscard]] bool maybe_filled(std::span<const ring_lease> leases) const noexcept {
        const std::uint64_t word = word_.load(sys::acquire); // [IR3]
        return has_unleased(word) || (holder(word) != nobody && leases[holder(word)].left(key(word)) != 0);
    }
    /// Any thread: the same for the elements that nobody has leased.
    [[nodiscard]] bool maybe_unleased() const noexcept { return has_unleased(word_.load(sys::relaxed)); }

    /// What a ring looked like a moment ago.
    struct sight {
        std::uint64_t taken;      ///< index behind the last element that was taken, modulo 2^41
        std::uint64_t left = 0;   ///< elements of the last lease, if another consumer than `me` has it
        bool is_anothers = false; ///< another one has it, or had it
        bool is_shared = false;   ///< and others have a share in it
    };
    [[nodiscard]] sight look(std::span<const ring_lease> leases, std::size_t me) const noexcept;

    /// Consumers: a note of what a task took while one of them took all, in ns; at first 0. Orders nothing.
    void note_alone(std::uint64_t ns) noexcept { alone_ns_.store(ns, sys::relaxed); }
    [[nodiscard]] std::uint64_t alone_ns() const noexcept { return alone_ns_.load(sys::relaxed); }

    /// Any thread: how many elements have been pushed so far. Orders nothing.
    [[nodiscard]] std::uint64_t pushed() const noexcept { return tail_.load(sys::relaxed) - first_index_; }

private:
    using slots = circular_array<task>::slots;

    // word_: what the consumers have come to. Each change moves the end.
    //   bits 0-15    the holder of the last lease, or nobody
    //   bits 16-22   number of elements of the last lease; 0 with nobody
    //   bits 23-63   end: the index behind all that has been leased or taken, modulo 2^41
    static constexpr std::uint64_t nobody = 0xffff;
    static constexpr unsigned count_shift = 16;
    static constexpr unsigned end_shift = 64 - ring_index::bits;

    [[nodiscard]] static std::uint64_t packed(std::uint64_t end, std::uint64_t count, std::uint64_t holder) {
        return (end & ring_index::mask) << end_shift | count << count_shift | holder;
    }
    [[nodiscard]] static std::uint64_t end(std::uint64_t word) noexcept { return word >> end_shift; }
    [[nodiscard]] static std::uint64_t count(std::uint64_t word) noexcept {
        return word >> count_shift & 127;
    }
    [[nodiscard]] static std::uint64_t holder(std::uint64_t word) noexcept { return word & nobody; }
    [[nodiscard]] ring_lease::key key(std::uint64_t word) const noexcept { return {number_, end(word)}; }
    [[nodiscard]] bool has_unleased(std::uint64_t word) const noexcept {
        return ring_index::distance(end(word), tail_.load(sys::relaxed)) != 0;
    }

    [[nodiscard]] task* take(std::span<ring_lease> leases, std::size_t me, std::uint64_t most) noexcept;
    [[nodiscard, gnu::noinline]] slots* make_room(slots* here, std::uint64_t tail);

    alignas(sys::isolation) sys::atomic<std::uint64_t> word_; // written by consumers
    sys::atomic<std::uint64_t> alone_ns_{0};                  // as well
    alignas(
        sys::isolation) sys::atomic<std::uint64_t> tail_; // next to push; this and the rest: by the producer
    std::uint64_t head_seen_;
    circular_array<task> array_;
    const std::uint64_t first_index_;
    const unsigned number_;
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

    /// `gate` is read on each push: while it has a bit of the push's `refused`, the push is refused. Only
    /// `consumers` threads, numbered from 0, may lease. `capacity`, a power of two, is a new ring's size.
    /// `first_index` is where the rings' indices start, for tests. Throws std::bad_alloc.
    explicit injection_queue(const sys::atomic<std::uint32_t>& gate, std::size_t consumers,
                             std::size_t capacity = 256, std::uint64_t first_index = 0);
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

    /// Takes the oldest task of one producer, of the rings from number `start` on. Null if there is none but
    /// in leases.
    [[nodiscard]] task* take_one(std::size_t start) noexcept;

    /// Consumer `me`: takes the oldest task of its lease; or null.
    [[nodiscard]] task* take_leased(std::size_t me) noexcept { return leases_[me].take(); }

    /// Consumer `me`: takes the oldest task of its lease; when that is used up, of another ring, which it
    /// leases then. Null if there is none but in leases of others, and in the ring of the fast holder that
    /// its last steal() has left alone.
    [[nodiscard]] task* take(std::size_t me) noexcept {
        if (task* const found = take_leased(me)) return found;
        return take_and_lease(me);
    }

    enum class victim : std::uint8_t {
        any,
        slow,  ///< takes its tasks so slowly that a theft gains more than it costs
        stuck, ///< takes none
    };

    /// Consumer `me`: takes the oldest task of the lease of another consumer that is such a victim; or null.
    /// All but `any` are found by watching: null, until the other one has been slow for half a microsecond.
    /// So a consumer that gets null while maybe_filled() calls again; or it steals from any, and gets a task,
    /// leased or not, unless others have taken all that were there when it called.
    [[nodiscard]] task* steal(std::size_t me, victim from) noexcept;

    /// Consumer `me`: whether its last steal() has ended a round over the rings that has left a fast holder
    /// alone. Then there is nothing to look for in a while.
    [[nodiscard]] bool has_declined(std::size_t me) const noexcept { return visits_[me].has_declined; }

    /// False if the queue was empty a moment ago. A hint: orders nothing.
    [[nodiscard]] bool maybe_filled() const noexcept;

    /// How many tasks have been pushed so far. Orders nothing.
    [[nodiscard]] std::uint64_t pushed() const noexcept;

    /// Where one or several threads push. Shared by the queue and its producer thread; the last one frees it.
    struct alignas(sys::isolation) inlet {
        inlet(std::size_t capacity, std::uint64_t first_index, std::size_t number)
            : ring(capacity, first_index, static_cast<unsigned>(number)), shared(number == 0) {}

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
    [[nodiscard]] task* take_and_lease(std::size_t me) noexcept;
    [[nodiscard]] task* take_single(std::size_t me, std::size_t i, injection_ring& from) noexcept;
    [[nodiscard]] task* steal_if_slow(std::size_t me, victim from) noexcept;
    [[nodiscard]] task* steal_at_once(std::size_t me) noexcept;
    [[nodiscard]] task* shared(std::size_t me, injection_ring& from) noexcept;
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
    // How fast all consumers together take from a ring.
    struct pace {
        injection_ring* ring = nullptr;
        std::uint64_t taken = 0; // when the measurement began
        std::uint64_t since = 0; // the time then, in ns

        struct sum {
            std::uint64_t ns;
            std::uint64_t tasks;
            /// Whether a task took this time, or more.
            [[nodiscard]] bool is_at_least(std::uint64_t ns_a_task) const noexcept {
                return ns >= ns_a_task * tasks;
            }
        };
        [[nodiscard]] sum at(std::uint64_t now_taken, std::uint64_t now_ns) const noexcept {
            return {now_ns - since, ring_index::distance(taken, now_taken)};
        }
    };
    // What consumers keep. The visits are each consumer's own.
    struct alignas(sys::isolation) visit {
        std::size_t turn = 0;       // the ring at which the next look for tasks begins
        unsigned stays = 0;         // leases taken
        unsigned singles = 0;       // tasks to take one at a time before the next lease
        unsigned periods = 0;       // of singles, one after the other
        pace sharing;               // since the singles began
        std::size_t theft = 0;      // the ring at which the next look for tasks of others begins
        pace watched;               // a ring whose holder may be fast
        pace left_alone;            // the last one whose holder was
        unsigned patience = 1;      // holders, neither slow nor fast, to leave alone before the next trial
        bool has_passed_by = false; // in this round over the rings, one
        bool has_declined = false;  // in the last round
    };
    const std::unique_ptr<ring_lease[]> lease_array_;
    const std::span<ring_lease> leases_;
    const std::unique_ptr<visit[]> visits_;
    // inlets_[0] is the shared inlet, or null while nobody needs it; [1, count_) are exclusive ones. None is
    // ever removed.
    sys::atomic<std::size_t> count_{1};
    std::array<sys::atomic<inlet*>, exclusive_rings + 1> inlets_{};
    sys::slow_lock registration_;
};

} // namespace ekiden::inline EKIDEN_ABI
