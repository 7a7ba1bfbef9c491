#include <ekiden/queue/injection_queue.hpp>

#include <ekiden/sys/asymmetric_fence.hpp>
#include <ekiden/sys/mutant.hpp>
#include <ekiden/sys/thread.hpp>

#include <algorithm>
#include <memory>
#include <mutex>
#include <vector>

namespace ekiden::inline EKIDEN_ABI {

struct alignas(sys::isolation) injection_queue::inlet {
    inlet(std::size_t capacity, std::uint64_t first_index, bool is_shared)
        : ring(capacity, first_index), shared(is_shared) {}

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
        // [Q1] release: this thread's pushes; pairs with the acquire in take_inlet() for the next thread.
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

injection_queue::injection_queue(const sys::atomic<std::uint32_t>& gate, std::size_t capacity,
                                 std::uint64_t first_index) noexcept
    : gate_(gate), id_(next_queue_id()), capacity_(capacity), first_index_(first_index) {}

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
            // [Q3] release: the push above; pairs with the acquire in quiesce(). The queue may be gone
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
    } guard(inlet_of_this_thread());
    // [Q2] light: `pushing` before the look at the gate; pairs with the heavy fence in quiesce(). Either the
    // closer sees this push under way, or this sees the closed gate.
    sys::fence_light();
    if ((gate_.load(sys::relaxed) & refused) != 0) return false;
    guard.here.ring.push(element);
    then.call(then.self);
    return true;
}

void injection_queue::quiesce() noexcept {
    // [Q2] heavy: the closed gate before the look at `pushing`, and at count_ and inlets_ of threads that
    // just came.
    sys::fence_heavy();
    const std::size_t count = count_.load(sys::relaxed);
    for (std::size_t i = 0; i != count; ++i) {
        const inlet* const here = inlets_[i].load(sys::acquire); // [Q4]
        while (here != nullptr && here->pushing.load(sys::acquire) != 0
               && !EKIDEN_MUTANT(queue_quiesce_does_not_wait))
            sys::yield(); // [Q3]
    }
}

std::size_t injection_queue::claim(std::span<task*> out, std::size_t start) noexcept {
    const std::size_t count = count_.load(sys::relaxed);
    std::size_t i = start % count;
    for (std::size_t turn = 0; turn != count; ++turn) {
        inlet* const here = inlets_[i].load(sys::acquire); // [Q4]
        if (here != nullptr && here->ring.maybe_filled()) {
            if (const std::size_t claimed = here->ring.claim(out)) return claimed;
        }
        if (++i == count) i = 0;
    }
    return 0;
}

bool injection_queue::maybe_filled() const noexcept {
    const std::size_t count = count_.load(sys::relaxed);
    for (std::size_t i = 0; i != count; ++i) {
        const inlet* const here = inlets_[i].load(sys::acquire); // [Q4]
        if (here != nullptr && here->ring.maybe_filled()) return true;
    }
    return false;
}

std::uint64_t injection_queue::pushed() const noexcept {
    std::uint64_t sum = 0;
    const std::size_t count = count_.load(sys::relaxed);
    for (std::size_t i = 0; i != count; ++i) {
        if (const inlet* const here = inlets_[i].load(sys::acquire)) sum += here->ring.pushed(); // [Q4]
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
            if (here.taken.load(sys::acquire) && !EKIDEN_MUTANT(queue_inlet_for_two)) continue; // [Q1]
            here.taken.store(true, sys::relaxed);
            return use(here);
        }
        if (count != inlets_.size()) {
            auto* const here = new inlet(capacity_, first_index_, false);
            // [Q4] release: the inlet; pairs with the acquires in claim(), maybe_filled(), pushed() and
            // quiesce().
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
    auto* const here = new inlet(capacity_, first_index_, true);
    inlets_[0].store(here, sys::release); // [Q4]
    return *here;
}

} // namespace ekiden::inline EKIDEN_ABI
