#include <ekiden/queue/injection_queue.hpp>

#include <ekiden/sys/asymmetric_fence.hpp>
#include <ekiden/sys/clock.hpp>
#include <ekiden/sys/mutant.hpp>
#include <ekiden/sys/thread.hpp>

#include <algorithm>
#include <memory>
#include <mutex>
#include <vector>

namespace ekiden::inline EKIDEN_ABI {

struct alignas(sys::isolation) injection_queue::inlet {
    inlet(std::size_t capacity, std::uint64_t first_index, std::size_t number)
        : ring(capacity, first_index, static_cast<unsigned>(number)), shared(number == 0) {}

    injection_ring ring;
    sys::atomic<std::uint32_t> pushing{0}; // 1 while a producer is between its look at the gate and its push
    sys::atomic<bool> taken{true};         // a living thread pushes here
    sys::atomic<bool> orphaned{false};     // the queue is gone
    sys::atomic<std::uint32_t> references{1}; // the queue and each thread that has the inlet
    const bool shared;
    sys::slow_lock lock; // for producers of a shared inlet

    void release() noexcept {
        // release: this side's use; acquire: the other side's, before the end.
        if (references.fetch_sub(1, sys::acq_rel) == 1) delete this;
    }
};

namespace {

using inlet = injection_queue::inlet;

/// The inlets of one thread, by queue. Entries of queues that are gone are removed when the thread meets a
/// new queue.
struct producer {
    struct entry {
        std::uint64_t queue;
        inlet* where;
    };
    std::vector<entry> entries;

    ~producer() {
        for (const entry& e : entries) leave(e);
    }

    static void leave(const entry& e) noexcept {
        // [IQ1] release: this thread's pushes; pairs with the acquire in take_inlet() for the next thread.
        if (!e.where->shared) e.where->taken.store(false, sys::release);
        e.where->release();
    }

    void forget_orphans() noexcept {
        std::erase_if(entries, [](const entry& e) {
            const bool gone = e.where->orphaned.load(sys::relaxed);
            if (gone) e.where->release();
            return gone;
        });
    }
};

/// The inlets that this thread used last, by the low bits of the queue's id; and all of them.
struct producer_cache {
    static constexpr std::size_t slots = 8;
    std::array<producer::entry, slots> recent{};
    producer* all = nullptr;
};

void end_producer(void*) noexcept {
    producer_cache& cache = sys::local<producer_cache>();
    delete cache.all;
    cache = producer_cache{};
}

/// The id of a queue is never 0, which stands for an empty cache slot.
std::uint64_t next_queue_id() noexcept {
    static constinit sys::atomic<std::uint64_t> last{0};
    return last.fetch_add(1, sys::relaxed) + 1;
}

} // namespace

injection_queue::injection_queue(const sys::atomic<std::uint32_t>& gate, std::size_t consumers,
                                 std::size_t capacity, std::uint64_t first_index)
    : gate_(gate), id_(next_queue_id()), capacity_(capacity), first_index_(first_index),
      lease_array_(consumers != 0 ? std::make_unique<ring_lease[]>(consumers) : nullptr),
      leases_(lease_array_.get(), consumers),
      visits_(consumers != 0 ? std::make_unique<visit[]>(consumers) : nullptr) {
    static_assert(exclusive_rings + 1 <= ring_lease::most_rings);
    for (std::size_t i = 0; i != consumers; ++i) visits_[i].turn = i + 1;
}

injection_queue::~injection_queue() {
    for (const auto& slot : inlets_) {
        if (inlet* const here = slot.load(sys::relaxed)) {
            here->orphaned.store(true, sys::relaxed); // a hint: release() orders
            here->release();
        }
    }
}

bool injection_queue::push(task* element, std::uint32_t refused, follow_up then) {
    struct entry_guard { // also when the ring cannot grow
        inlet& here;
        explicit entry_guard(inlet& l) noexcept : here(l) {
            if (here.shared) enter_shared();
            here.pushing.store(EKIDEN_MUTANT(queue_push_unannounced) ? 0 : 1, sys::relaxed);
        }
        ~entry_guard() {
            // [IQ3] release: the push above; pairs with the acquire in quiesce(). The queue may be gone
            // afterwards; the thread keeps the inlet.
            here.pushing.store(0, sys::release);
            if (here.shared) leave_shared();
        }
        [[gnu::noinline]] void enter_shared() const noexcept {
            here.references.fetch_add(1, sys::relaxed); // a thread past its end has none of its own
            here.lock.lock();
        }
        [[gnu::noinline]] void leave_shared() const noexcept {
            here.lock.unlock();
            here.release();
        }
    };
    const producer::entry& recent = sys::local<producer_cache>().recent[id_ % producer_cache::slots];
    const bool is_own = recent.queue == id_ && !recent.where->shared;
    // In the child of a fork() the locks on the other ways may be held by threads that do not exist.
    if (!is_own && (gate_.load(sys::relaxed) & refused) != 0) return false;
    const entry_guard guard(is_own ? *recent.where : inlet_of_this_thread());
    // [IQ2] light: `pushing` before the look at the gate; pairs with the heavy fence in quiesce(). Either the
    // closer sees this push under way, or this sees the closed gate.
    sys::fence_light();
    if ((gate_.load(sys::relaxed) & refused) != 0) return false;
    guard.here.ring.push(element);
    then.call(then.self);
    return true;
}

void injection_queue::quiesce() noexcept {
    // [IQ2] heavy: the closed gate before the look at `pushing`, and at count_ and inlets_ of threads that
    // just came.
    sys::fence_heavy();
    const std::size_t count = count_.load(sys::relaxed);
    for (std::size_t i = 0; i != count; ++i) {
        const inlet* const here = inlets_[i].load(sys::acquire); // [IQ4]
        while (here != nullptr && here->pushing.load(sys::acquire) != 0
               && !EKIDEN_MUTANT(queue_quiesce_does_not_wait))
            sys::yield(); // [IQ3]
    }
}

task* injection_queue::take_one(std::size_t start) noexcept {
    const std::size_t count = count_.load(sys::relaxed);
    std::size_t i = start % count;
    for (std::size_t turn = 0; turn != count; ++turn) {
        inlet* const here = inlets_[i].load(sys::acquire); // [IQ4]
        if (here != nullptr && here->ring.maybe_unleased()) {
            if (task* const found = here->ring.take_one(leases_)) return found;
        }
        if (++i == count) i = 0;
    }
    return nullptr;
}

task* injection_queue::take_and_lease(std::size_t me) noexcept {
    const std::size_t count = count_.load(sys::relaxed);
    std::size_t i = visits_[me].turn % count;
    for (std::size_t turn = 0; turn != count; ++turn) {
        inlet* const here = inlets_[i].load(sys::acquire); // [IQ4]
        if (++i == count) i = 0;
        if (here == nullptr || !here->ring.maybe_unleased()) continue;
        if (task* const found = here->ring.take_and_lease(leases_, me)) {
            visits_[me].turn = i; // a producer that never stops does not keep the others waiting
            return found;
        }
    }
    return nullptr;
}

/// From the lease that `me` watches, if it is time; or null. Watches none any more if the holder is fast.
task* injection_queue::steal_if_slow(std::size_t me) noexcept {
    // Two threads that share the tasks of a ring hand over a cache line for each: about 100 ns. The first
    // theft from a lease also costs a heavy fence, and the processors of all threads some time.
    constexpr std::uint64_t watched_ns = 500;
    constexpr std::uint64_t slow_ns = 200; // a task
    visit& own = visits_[me];
    const injection_ring::sight now = own.ring->lease_of_another(leases_, me);
    if (now.lease == own.seen.lease && now.left != 0) {
        const std::uint64_t passed = sys::now_ns() - own.seen_ns;
        if (passed < watched_ns && !now.is_shared) return nullptr;
        if (now.is_shared || passed >= slow_ns * (own.seen.left - now.left))
            return own.ring->steal(leases_, me);
        own.has_declined = true;
    }
    own.ring = nullptr;
    return nullptr;
}

task* injection_queue::steal(std::size_t me) noexcept {
    visit& own = visits_[me];
    if (own.ring != nullptr) return steal_if_slow(me);
    own.has_declined = false;
    const std::size_t count = count_.load(sys::relaxed);
    std::size_t i = own.theft % count;
    for (std::size_t turn = 0; turn != count; ++turn) {
        inlet* const here = inlets_[i].load(sys::acquire); // [IQ4]
        if (++i == count) i = 0;
        if (here == nullptr) continue;
        const injection_ring::sight now = here->ring.lease_of_another(leases_, me);
        if (now.left == 0) continue;
        own.theft = i; // a holder that stays fast does not hide the others
        own.ring = &here->ring;
        own.seen = now;
        own.seen_ns = sys::now_ns();
        return now.is_shared ? own.ring->steal(leases_, me) : nullptr;
    }
    return nullptr;
}

bool injection_queue::maybe_filled() const noexcept {
    const std::size_t count = count_.load(sys::relaxed);
    for (std::size_t i = 0; i != count; ++i) {
        const inlet* const here = inlets_[i].load(sys::acquire); // [IQ4]
        if (here != nullptr && here->ring.maybe_filled(leases_)) return true;
    }
    return false;
}

std::uint64_t injection_queue::pushed() const noexcept {
    std::uint64_t sum = 0;
    const std::size_t count = count_.load(sys::relaxed);
    for (std::size_t i = 0; i != count; ++i) {
        if (const inlet* const here = inlets_[i].load(sys::acquire)) sum += here->ring.pushed(); // [IQ4]
    }
    return sum;
}

// ---- which inlet

injection_queue::inlet& injection_queue::inlet_of_this_thread() {
    const producer::entry& recent = sys::local<producer_cache>().recent[id_ % producer_cache::slots];
    return recent.queue == id_ ? *recent.where : find_inlet();
}

injection_queue::inlet& injection_queue::find_inlet() {
    producer_cache& cache = sys::local<producer_cache>();
    if (cache.all == nullptr) {
        auto created = std::make_unique<producer>();
        // A thread past its end cannot give a inlet back: it pushes where nobody has to.
        if (!sys::at_thread_exit(&end_producer, nullptr)) return shared_inlet();
        cache.all = created.release();
    }
    std::vector<producer::entry>& entries = cache.all->entries;
    auto found = std::find_if(entries.begin(), entries.end(), [&](const auto& e) { return e.queue == id_; });
    if (found == entries.end()) {
        cache.all->forget_orphans();
        entries.reserve(entries.size() + 1); // before the inlet is taken: the rest cannot fail
        entries.push_back({id_, &take_inlet()});
        found = entries.end() - 1;
    }
    cache.recent[id_ % producer_cache::slots] = *found;
    return *found->where;
}

injection_queue::inlet& injection_queue::take_inlet() {
    const auto use = [](inlet& here) -> inlet& {
        here.references.fetch_add(1, sys::relaxed); // the queue holds one meanwhile
        return here;
    };
    {
        std::lock_guard guard(registration_);
        const std::size_t count = count_.load(sys::relaxed);
        for (std::size_t i = 1; i != count; ++i) {
            inlet& here = *inlets_[i].load(sys::relaxed);
            if (here.taken.load(sys::acquire) && !EKIDEN_MUTANT(queue_inlet_for_two)) continue; // [IQ1]
            here.taken.store(true, sys::relaxed);
            return use(here);
        }
        if (count != inlets_.size()) {
            auto* const here = new inlet(capacity_, first_index_, count);
            // [IQ4] release: the inlet; pairs with the acquires in take_one(), take_and_lease(), steal(),
            // maybe_filled(), pushed() and quiesce().
            inlets_[count].store(here, sys::release);
            count_.store(count + 1, sys::relaxed); // only how far to look
            return use(*here);
        }
    }
    return use(shared_inlet());
}

injection_queue::inlet& injection_queue::shared_inlet() {
    std::lock_guard guard(registration_);
    if (inlet* const here = inlets_[0].load(sys::relaxed)) return *here;
    auto* const here = new inlet(capacity_, first_index_, 0);
    inlets_[0].store(here, sys::release); // [IQ4]
    return *here;
}

} // namespace ekiden::inline EKIDEN_ABI
