// Data that is read before, or reused after, it may be.
#include <check/museum/exhibit.hpp>

#include <array>
#include <memory>

using namespace ekiden::sys;
namespace check = ekiden::check;

namespace {

/// The work-stealing deque of the papers, as far as the exhibits need it. Elements are small numbers; 0 is
/// none.
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

// The larger array is stored relaxed: a thief that still has an old index reads the new array's empty slots.
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

// Without a full fence the owner takes the last element while a thief does.
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

// A block's steal position starts from zero in each round: a thief that read it in an earlier round claims a
// place of this one, for a task that the owner has long run.
EXHIBIT(stdexec_bwos_1755, "https://github.com/NVIDIA/stdexec/issues/1755") {
    atomic<std::uint32_t> position{0}; // place in the block, and, if repaired, the round above it
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
    claim(); // the owner takes the block over and, if it got the task, fills the block again
    if (run[1] == 1) {
        slot.store(2, relaxed);
        position.store(repaired ? 1 << 8 : 0, release);
        claim();
    }
    thief.join();
    check::that(run[1] == 1, "a task runs once");
    check::that(run[2] <= 1, "and so does the next one");
}

// The slow unlock releases the lock bit in the same step that takes the queue's spin bit, with acquire only.
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
    word.fetch_and(~spin, release); // the queue of waiters is done
    other.join();
}

// The uniqueness test reads the count relaxed, and so does not order the last reader's accesses before the
// write.
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

// sem_post looks at the number of waiters after it has raised the value: by then the semaphore may be gone.
EXHIBIT(glibc_semaphore_12674, "https://sourceware.org/bugzilla/show_bug.cgi?id=12674") {
    struct semaphore {
        atomic<std::uint32_t> value{0};
        atomic<std::uint32_t> waiters{0};
    };
    auto s = std::make_unique<semaphore>();
    thread poster([&s = *s] {
        s.value.fetch_add(1, release);
        // Repaired: only the address is used after that.
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

// A sequence lock's reader looks at the sequence number again without a fence after it has read the data.
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

// Double-checked locking with plain publication of the pointer.
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
