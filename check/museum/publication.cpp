// Data that is read before it is published, or reused before the last read.
#include <check/museum/exhibit.hpp>

#include <array>
#include <memory>

namespace publication_exhibits {

using namespace ekiden::sys;
namespace check = ekiden::check;

namespace {

/// The work-stealing deque of the papers, reduced to what the exhibits need. Elements are small numbers. 0
/// means none.
struct paper_deque {
    struct ring {
        explicit ring(std::size_t n) : slots(std::make_unique<atomic<int>[]>(n)), size(n) {}
        std::unique_ptr<atomic<int>[]> slots;
        std::size_t size;
    };
    explicit paper_deque(std::size_t size) : first(size), current(&first) {}

    ring first;
    std::unique_ptr<ring> second;
    atomic<ring*> current;
    atomic<long> top{0};
    atomic<long> bottom{0};
    std::array<int, 4> taken{};

    void use(int element) {
        if (element != 0) ++taken[static_cast<std::size_t>(element)];
    }
};

} // namespace

// The larger array is stored with relaxed order. A thief with an old index then reads empty slots of the new
// array.
EXHIBIT(chase_lev_growth, "https://plrg.ics.uci.edu/publication/"
                          "cdschecker-checking-concurrent-data-structures-written-with-cc-atomics/") {
    paper_deque d(1);
    d.first.slots[0].store(1, relaxed);
    d.bottom.store(1, release);
    thread thief([&] {
        long top = d.top.load(acquire);
        fence(seq_cst);
        if (top >= d.bottom.load(acquire)) return;
        paper_deque::ring* const ring = d.current.load(repaired ? acquire : relaxed);
        const int element = ring->slots[static_cast<std::size_t>(top) % ring->size].load(relaxed);
        if (!d.top.compare_exchange_strong(top, top + 1, seq_cst, relaxed)) return;
        check::that(element != 0, "a claimed slot holds an element");
    });
    d.second = std::make_unique<paper_deque::ring>(2);
    d.second->slots[0].store(d.first.slots[0].load(relaxed), relaxed);
    d.current.store(d.second.get(), repaired ? release : relaxed);
    d.second->slots[1].store(2, relaxed);
    d.bottom.store(2, release);
    thief.join();
}

// Without a full fence, the owner pops the last element while a thief steals it.
EXHIBIT(chase_lev_missing_fence, "https://fzn.fr/readings/ppopp13.pdf") {
    paper_deque d(2);
    d.first.slots[0].store(1, relaxed);
    d.first.slots[1].store(2, relaxed);
    d.bottom.store(2, release);
    constexpr memory_order fence_order = repaired ? seq_cst : acq_rel;
    thread thief([&] {
        for (int i = 0; i < 2; ++i) {
            long top = d.top.load(acquire);
            fence(fence_order);
            if (top >= d.bottom.load(acquire)) return;
            const int element = d.first.slots[static_cast<std::size_t>(top) % 2].load(relaxed);
            if (d.top.compare_exchange_strong(top, top + 1, seq_cst, relaxed)) d.use(element);
        }
    });
    const long bottom = d.bottom.load(relaxed) - 1;
    d.bottom.store(bottom, relaxed);
    fence(fence_order);
    long top = d.top.load(relaxed);
    if (top < bottom) {
        d.use(d.first.slots[static_cast<std::size_t>(bottom) % 2].load(relaxed));
    } else if (top == bottom) {
        const int element = d.first.slots[static_cast<std::size_t>(bottom) % 2].load(relaxed);
        if (d.top.compare_exchange_strong(top, top + 1, seq_cst, relaxed)) d.use(element);
    }
    thief.join();
    check::that(d.taken[1] <= 1 && d.taken[2] <= 1, "nothing is taken twice");
}

// The steal position of a block starts at zero in each round. A thief that read it in an earlier round claims
// a place of the current round. The owner has run that task long ago.
EXHIBIT(stdexec_bwos_1755, "https://github.com/NVIDIA/stdexec/issues/1755") {
    atomic<std::uint32_t> position{0}; // position in the block; the repaired version has the round above it
    atomic<int> slot{1};
    std::array<int, 3> run{};
    const auto claim = [&] {
        std::uint32_t seen = position.load(acquire);
        if ((seen & 0xFF) != 0) return;
        const int task = slot.load(relaxed);
        if (position.compare_exchange_strong(seen, seen + 1, acq_rel, acquire))
            ++run[static_cast<std::size_t>(task)];
    };
    thread thief(claim);
    claim(); // the owner takes the block over; if it got the task, it fills the block again
    if (run[1] == 1) {
        slot.store(2, relaxed);
        position.store(repaired ? 1 << 8 : 0, release);
        claim();
    }
    thief.join();
    check::that(run[1] == 1, "a task runs once");
    check::that(run[2] <= 1, "and so does the next one");
}

// The slow unlock clears the lock bit and sets the queue's spin bit in one atomic operation, which only
// acquires.
EXHIBIT(nsync_unlock_slow, "https://github.com/google/nsync/pull/16") {
    constexpr std::uint32_t locked = 1;
    constexpr std::uint32_t spin = 2;
    atomic<std::uint32_t> word{locked};
    cell<int> guarded{0};
    thread other([&] {
        for (;;) {
            std::uint32_t seen = word.load(relaxed);
            if ((seen & locked) == 0 && word.compare_exchange_strong(seen, seen | locked, acquire, relaxed))
                break;
            yield();
        }
        guarded.write(guarded.read() + 1);
    });
    guarded.write(1);
    std::uint32_t held = locked;
    check::that(word.compare_exchange_strong(held, spin, repaired ? acq_rel : acquire, relaxed),
                "it is ours");
    word.fetch_and(~spin, release); // the work on the queue of waiters is complete
    other.join();
}

// The uniqueness test reads the count with relaxed order. So it does not order the last reader's accesses
// before the write.
EXHIBIT(rust_arc_get_mut_52031, "https://github.com/rust-lang/rust/pull/52031") {
    atomic<int> strong{2};
    cell<int> value{5};
    thread other([&] {
        (void)value.read();
        strong.fetch_sub(1, release);
    });
    if (strong.load(repaired ? acquire : relaxed) == 1) value.write(6);
    other.join();
}

// sem_post reads the number of waiters after it has incremented the value. The semaphore may be destroyed by
// then.
EXHIBIT(glibc_semaphore_12674, "https://sourceware.org/bugzilla/show_bug.cgi?id=12674") {
    struct semaphore {
        atomic<std::uint32_t> value{0};
        atomic<std::uint32_t> waiters{0};
    };
    auto s = std::make_unique<semaphore>();
    thread poster([&s = *s] {
        s.value.fetch_add(1, release);
        // The repaired version uses only the address after that.
        if (repaired || s.waiters.load(relaxed) != 0) (void)futex_wake(s.value);
    });
    for (;;) {
        std::uint32_t seen = s->value.load(acquire);
        if (seen != 0 && s->value.compare_exchange_strong(seen, seen - 1, acquire, relaxed)) break;
        s->waiters.fetch_add(1, relaxed);
        futex_wait(s->value, 0);
        s->waiters.fetch_sub(1, relaxed);
    }
    s.reset();
    poster.join();
}

// The reader of a sequence lock reads the data and then the sequence number again, without a fence in
// between.
EXHIBIT(seqlock_reader, "https://www.hpl.hp.com/techreports/2012/HPL-2012-68.html") {
    atomic<unsigned> sequence{0};
    atomic<int> first{0};
    atomic<int> second{0};
    thread writer([&] {
        sequence.store(1, relaxed);
        fence(release);
        first.store(1, relaxed);
        second.store(1, relaxed);
        sequence.store(2, release);
    });
    const unsigned before = sequence.load(acquire);
    const int a = first.load(relaxed);
    const int b = second.load(relaxed);
    if (repaired) fence(acquire);
    const unsigned after = sequence.load(relaxed);
    if (before == after && before % 2 == 0) check::that(a == b, "both of one version");
    writer.join();
}

// Double-checked locking that publishes the pointer with a plain store.
EXHIBIT(double_checked_locking, "https://www.cs.umd.edu/~pugh/java/memoryModel/DoubleCheckedLocking.html") {
    struct object {
        cell<int> value{0};
    };
    atomic<object*> instance{nullptr};
    atomic<bool> lock{false};
    const auto get = [&] {
        object* seen = instance.load(repaired ? acquire : relaxed);
        if (seen == nullptr) {
            while (lock.exchange(true, acquire)) yield();
            seen = instance.load(relaxed);
            if (seen == nullptr) {
                seen = new object;
                seen->value.write(1);
                instance.store(seen, repaired ? release : relaxed);
            }
            lock.store(false, release);
        }
        return seen;
    };
    thread other([&] { check::that(get()->value.read() == 1, "the object is complete"); });
    check::that(get()->value.read() == 1, "the object is complete");
    other.join();
    delete instance.load(relaxed);
}

} // namespace publication_exhibits
