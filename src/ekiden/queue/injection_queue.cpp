#include <ekiden/queue/injection_queue.hpp>

#include <ekiden/sys/asymmetric_fence.hpp>
#include <ekiden/sys/clock.hpp>
#include <ekiden/sys/mutant.hpp>
#include <ekiden/sys/thread.hpp>

#include <algorithm>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace ekiden::inline EKIDEN_ABI {

namespace {

using inlet = injection_queue::inlet;
using entry = injection_queue::recent_inlets::entry;

} // namespace

/// The inlets of one thread, by queue. Entries of queues that are gone are removed when the thread meets a
/// new queue.
struct injection_queue::producer {
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

namespace {

void end_producer(void*) noexcept {
    auto& cache = sys::local<injection_queue::recent_inlets>();
    delete cache.all;
    cache = {};
}

/// The id of a queue is never 0, which stands for an empty cache slot.
std::uint64_t next_queue_id() noexcept {
    static constinit sys::atomic<std::uint64_t> last{0};
    return last.fetch_add(1, sys::relaxed) + 1;
}

} // namespace

injection_queue::injection_queue(const sys::atomic<std::uint32_t>& gate, std::size_t capacity,
                                 std::uint64_t first_index)
    : gate_(gate), id_(next_queue_id()), capacity_(capacity), first_index_(first_index) {}

injection_queue::~injection_queue() {
    for (const auto& slot : inlets_) {
        if (inlet* const here = slot.load(sys::relaxed)) {
            here->orphaned.store(true, sys::relaxed); // a hint: release() orders
            here->release();
        }
    }
}

bool injection_queue::push_elsewhere(task* element, std::uint32_t refused, follow_up then) {
    // In the child of a fork() the locks on this way may be held by threads that do not exist.
    if ((gate_.load(sys::relaxed) & refused) != 0) return false;
    inlet& here = inlet_of_this_thread();
    if (!here.shared) return push_into(here, element, refused, [then] { then.call(then.self); });
    struct turn {
        inlet& here;
        explicit turn(inlet& i) noexcept : here(i) {
            here.references.fetch_add(1, sys::relaxed); // a thread past its end has none of its own
            here.lock.lock();
        }
        ~turn() {
            here.lock.unlock();
            here.release();
        }
    } guard(here);
    return push_into(here, element, refused, [then] { then.call(then.self); });
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

std::size_t injection_queue::take(std::size_t start, std::span<task*> into, std::size_t share) noexcept {
    const std::size_t count = count_.load(sys::relaxed);
    std::size_t i = start % count;
    for (std::size_t turn = 0; turn != count; ++turn) {
        inlet* const here = inlets_[i].load(sys::acquire); // [IQ4]
        if (here != nullptr && here->ring.maybe_filled()) {
            if (const std::size_t taken = here->ring.take(into, share)) return taken;
        }
        if (++i == count) i = 0;
    }
    return 0;
}

bool injection_queue::maybe_filled() const noexcept {
    const std::size_t count = count_.load(sys::relaxed);
    for (std::size_t i = 0; i != count; ++i) {
        const inlet* const here = inlets_[i].load(sys::acquire); // [IQ4]
        if (here != nullptr && here->ring.maybe_filled()) return true;
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
    auto& cache = sys::local<recent_inlets>();
    entry& recent = cache.of(id_);
    if (recent.queue == id_) return *recent.where;
    if (cache.all == nullptr) {
        auto created = std::make_unique<producer>();
        // A thread past its end cannot give an inlet back: it pushes where nobody has to.
        if (!sys::at_thread_exit(&end_producer, nullptr)) return shared_inlet();
        cache.all = created.release();
    }
    std::vector<entry>& entries = cache.all->entries;
    auto found = std::find_if(entries.begin(), entries.end(), [&](const auto& e) { return e.queue == id_; });
    if (found == entries.end()) {
        cache.all->forget_orphans();
        entries.reserve(entries.size() + 1); // before the inlet is taken: the rest cannot fail
        entries.push_back({id_, &take_inlet()});
        found = entries.end() - 1;
    }
    recent = *found;
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
            auto* const here = new inlet(capacity_, first_index_, false);
            // [IQ4] release: the inlet; pairs with the acquires in take(), maybe_filled(), pushed() and
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
    inlets_[0].store(here, sys::release); // [IQ4]
    return *here;
}

} // namespace ekiden::inline EKIDEN_ABI
