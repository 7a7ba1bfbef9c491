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

// ---- what several consumers do with one ring
//
// A task begins only when the one before has been taken, so threads that share the tasks of a ring hand over
// a cache line for each of them. That takes 40 to 200 ns, and differs between one run of a virtual machine
// and the next: where it is slow, two threads need longer for tasks of 0.1 us than one. So a consumer that
// finds all tasks with another one watches, and leaves a holder alone that takes them faster than two could;
// which of both is faster for tasks of a length between is measured, by turns.

namespace {

// A lease that two consumers share costs them more than it saves: the watch, a heavy fence, and an exchange
// for each task all the same. So after one they take that many one at a time;
constexpr unsigned most_singles = 512;
// and again, while others take part and that goes faster than one did alone, but not for ever: tasks change.
constexpr unsigned most_periods = 16;

constexpr std::uint64_t watch_ns = 500;
constexpr std::uint64_t slow_ns = 200; // a task: to share pays wherever one takes longer
constexpr std::uint64_t fast_ns = 60;  // nowhere, where one takes less
constexpr unsigned most_patience = 16; // holders between that are left alone before the next trial

} // namespace

task* injection_queue::take_and_lease(std::size_t me) noexcept {
    const std::size_t count = count_.load(sys::relaxed);
    visit& own = visits_[me];
    if (leases_[me].was_shared()) own.singles = most_singles;
    std::size_t i = own.turn < count ? own.turn : 0; // no division: it costs as much as the rest
    for (std::size_t turn = 0; turn != count; ++turn) {
        inlet* const here = inlets_[i].load(sys::acquire); // [IQ4]
        // No look at the ring of a fast holder: each takes lines from it, and from the producer.
        if (here != nullptr && &here->ring != own.left_alone.ring && here->ring.maybe_unleased()) {
            if (own.singles != 0) {
                if (task* const found = take_single(me, i, here->ring)) return found;
            } else if (task* const found = here->ring.take_and_lease(leases_, me)) {
                // Stays for some leases, since they grow longer meanwhile; then goes on, so that a producer
                // that never stops does not keep the others waiting.
                constexpr unsigned most_stays = 8;
                own.turn = ++own.stays % most_stays == 0 ? i + 1 : i;
                own.left_alone.ring = nullptr; // what was seen there gets old
                return found;
            }
        }
        if (++i == count) i = 0;
    }
    return nullptr;
}

/// The oldest task of ring number `i`; or null.
task* injection_queue::take_single(std::size_t me, std::size_t i, injection_ring& from) noexcept {
    task* const found = from.take_one(leases_);
    if (found == nullptr) return nullptr;
    visit& own = visits_[me];
    own.turn = i;
    const bool is_first = own.sharing.ring != &from;
    if (--own.singles != 0 && !is_first) return found;
    const std::uint64_t taken = from.look(leases_, me).taken;
    const std::uint64_t now = sys::now_ns();
    if (own.singles == 0) {
        own.turn = i + 1;
        const pace::sum all = own.sharing.at(taken, now);
        const bool are_others_here = !is_first && all.tasks > most_singles * 5 / 4;
        const bool pays = !all.is_at_least(from.alone_ns());
        if (are_others_here) own.patience = pays ? 1 : most_patience;
        if (are_others_here && pays && ++own.periods != most_periods)
            own.singles = most_singles;
        else
            own.periods = 0;
    }
    own.sharing = {own.singles != 0 ? &from : nullptr, taken, now};
    own.left_alone.ring = nullptr; // what was seen there gets old
    return found;
}

/// From the ring that `me` watches, if its holder is as slow as that; or null, and watches no more.
task* injection_queue::steal_if_slow(std::size_t me, victim from) noexcept {
    visit& own = visits_[me];
    const std::uint64_t now_ns = sys::now_ns();
    if (now_ns - own.watched.since < watch_ns) return nullptr; // and looks at nothing: as above
    injection_ring& ring = *own.watched.ring;
    const injection_ring::sight now = ring.look(leases_, me);
    const pace::sum seen = std::exchange(own.watched, {}).at(now.taken, now_ns);
    if (from == victim::stuck && seen.tasks != 0) return nullptr;
    const bool shares = seen.is_at_least(slow_ns) || (seen.is_at_least(fast_ns) && own.patience == 0);
    if (now.is_anothers && !shares) {
        if (own.patience != 0) --own.patience;
        own.left_alone = {&ring, now.taken, now_ns};
        own.has_passed_by = true;
        return nullptr;
    }
    own.left_alone.ring = nullptr; // takes what nobody has leased, when it looks next
    if (now.left == 0) return nullptr;
    task* const found = shared(me, ring);
    if (from == victim::stuck && found != nullptr) { // a rare look: the next one needs none before it
        own.watched = {&ring, (now.taken + 1) & ring_index::mask, now_ns};
        ++own.theft;
    }
    return found;
}

/// The oldest task of a lease that others have a share in, and single ones afterwards; or null.
task* injection_queue::shared(std::size_t me, injection_ring& from) noexcept {
    visit& own = visits_[me];
    own.singles = most_singles;
    own.left_alone.ring = nullptr;
    --own.theft; // the next look begins here
    return from.steal(leases_, me);
}

task* injection_queue::steal(std::size_t me, victim from) noexcept {
    visit& own = visits_[me];
    if (from == victim::any) return steal_at_once(me);
    if (own.watched.ring != nullptr) return steal_if_slow(me, from);
    const std::size_t count = count_.load(sys::relaxed);
    while (own.theft < count) { // a holder that stays fast does not hide the others
        inlet* const here = inlets_[own.theft++].load(sys::acquire); // [IQ4]
        if (here == nullptr) continue;
        injection_ring& ring = here->ring;
        const injection_ring::sight now = ring.look(leases_, me);
        const bool was_left_alone = &ring == own.left_alone.ring;
        if (now.left == 0 && !was_left_alone) continue;
        own.has_declined = false;
        if (now.is_shared && from != victim::stuck) return shared(me, ring);
        const std::uint64_t now_ns = sys::now_ns();
        if (was_left_alone) {
            const pace::sum alone = own.left_alone.at(now.taken, now_ns);
            ring.note_alone(alone.ns / (alone.tasks + 1));
        }
        own.watched = {&ring, now.taken, now_ns};
        return nullptr;
    }
    own.theft = 0;
    own.has_declined = std::exchange(own.has_passed_by, false);
    return nullptr;
}

task* injection_queue::steal_at_once(std::size_t me) noexcept {
    visits_[me].left_alone.ring = nullptr;
    if (task* const found = take(me)) return found;
    const std::size_t count = count_.load(sys::relaxed);
    for (std::size_t i = 0; i != count; ++i) {
        inlet* const here = inlets_[i].load(sys::acquire); // [IQ4]
        if (here == nullptr) continue;
        if (task* const found = here->ring.steal(leases_, me)) return found; // null: used up meanwhile
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
