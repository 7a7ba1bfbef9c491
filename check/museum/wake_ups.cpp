// Lost wake-ups.
#include <check/museum/exhibit.hpp>

using namespace ekiden::sys;
namespace check = ekiden::check;

// The notifier's read-modify-write of the flag was taken for a full fence; its look at the waiters moved
// before it.
EXHIBIT(onetbb_2136, "https://github.com/uxlfoundation/oneTBB/pull/2136") {
    atomic<bool> locked{true};
    atomic<int> waiters{0};
    atomic<std::uint32_t> epoch{0};
    thread waiter([&] {
        while (locked.load(acquire)) {
            const std::uint32_t before = epoch.load(acquire);
            waiters.store(1, relaxed);
            fence(seq_cst);
            if (locked.load(relaxed)) futex_wait(epoch, before);
            waiters.store(0, relaxed);
        }
    });
    (void)locked.exchange(false, seq_cst);
    if (repaired) fence(seq_cst);
    if (waiters.load(relaxed) != 0) {
        epoch.fetch_add(1, release);
        (void)futex_wake_all(epoch);
    }
    waiter.join();
}

// The semaphore's release wakes a waiter only when the count was zero: the second of two sleeps on.
EXHIBIT(libstdcxx_semaphore_98033, "https://gcc.gnu.org/bugzilla/show_bug.cgi?id=98033") {
    atomic<std::uint32_t> count{0};
    const auto take = [&] {
        for (;;) {
            std::uint32_t seen = count.load(acquire);
            while (seen > 0) {
                if (count.compare_exchange_strong(seen, seen - 1, acquire, relaxed)) return;
            }
            futex_wait(count, 0);
        }
    };
    thread first(take);
    thread second(take);
    for (int i = 0; i < 2; ++i) {
        const std::uint32_t before = count.fetch_add(1, release);
        if (repaired || before == 0) (void)futex_wake(count);
    }
    first.join();
    second.join();
}

// The waiter counts itself and then relies on the kernel for a barrier; the notifier looks at the count.
EXHIBIT(libcxx_atomic_wait_109290, "https://github.com/llvm/llvm-project/issues/109290") {
    atomic<std::uint32_t> value{0};
    atomic<std::uint32_t> platform{0};
    atomic<int> waiters{0};
    thread waiter([&] {
        while (value.load(acquire) == 0) {
            const std::uint32_t before = platform.load(acquire);
            waiters.fetch_add(1, repaired ? relaxed : seq_cst);
            if (repaired) fence(seq_cst);
            if (value.load(relaxed) == 0) futex_wait(platform, before);
            waiters.fetch_sub(1, release);
        }
    });
    value.store(1, release);
    platform.fetch_add(1, release);
    if (repaired) fence(seq_cst);
    if (waiters.load(repaired ? relaxed : seq_cst) != 0) (void)futex_wake_all(platform);
    waiter.join();
}

// park() takes a token that is there and returns without a barrier: the store that empties the counter may
// land on the next token, while the condition was read before that token came.
EXHIBIT(jdk_park_6822370, "https://bugs.openjdk.org/browse/JDK-6822370") {
    atomic<std::uint32_t> token{1}; // left over from an earlier unpark
    atomic<bool> condition{false};
    thread parker([&] {
        while (!condition.load(relaxed)) {
            if (token.load(acquire) > 0) {
                token.store(0, relaxed);
                if (repaired) fence(seq_cst);
            } else {
                futex_wait(token, 0);
            }
        }
    });
    condition.store(true, relaxed);
    fence(seq_cst);
    if (token.exchange(1, release) == 0) (void)futex_wake(token);
    parker.join();
}

// A condition variable with two groups that take turns: a late waiter of a group that is over finds the
// signal of the group that has its slot now, and takes it.
EXHIBIT(glibc_condition_25847, "https://sourceware.org/bugzilla/show_bug.cgi?id=25847") {
    // Signals of the slot: the low byte counts them, the rest is the generation that they are for.
    atomic<std::uint32_t> signals{0};
    atomic<int> registered{0};
    const auto wait_in = [&](std::uint32_t generation) {
        for (;;) {
            std::uint32_t seen = signals.load(acquire);
            if (repaired && seen >> 8 != generation) return; // this group is over: all of it was woken
            if ((seen & 0xFF) != 0) {
                if (signals.compare_exchange_strong(seen, seen - 1, acquire, relaxed)) return;
            } else {
                futex_wait(signals, seen);
            }
        }
    };
    thread late([&] {
        registered.fetch_add(1, release);
        wait_in(0);
    });
    thread next([&] {
        while (signals.load(acquire) >> 8 != 1) yield();
        registered.fetch_add(1, release);
        wait_in(1);
    });
    while (registered.load(acquire) != 1) yield();
    // The group ends with a signal for its waiter, and the slot passes to the next generation.
    signals.store(1, release);
    (void)futex_wake_all(signals);
    signals.store(1 << 8, release);
    (void)futex_wake_all(signals);
    while (registered.load(acquire) != 2) yield();
    signals.fetch_add(1, release); // for the new group's waiter
    (void)futex_wake_all(signals);
    next.join();
    late.join();
}

// Tokio's scheduler, late 2019: a thread that schedules a task looks, with a seq_cst load, whether a worker
// searches; if one does, nobody is woken. The searcher leaves that state with a seq_cst read-modify-write and
// looks at the queue once more. Push and look at the queue are not seq_cst, so each may miss the other. A
// read-modify-write instead of the load joins the chain of changes, and the searcher's own change then
// acquires the push.
EXHIBIT(tokio_1788, "https://github.com/tokio-rs/tokio/pull/1788") {
    atomic<int> queue{0};
    atomic<int> searchers{1};
    atomic<std::uint32_t> wakes{0};
    thread worker([&] {
        searchers.fetch_sub(1, seq_cst);
        if (queue.load(acquire) != 0) return;
        while (wakes.load(acquire) == 0) futex_wait(wakes, 0);
    });
    queue.store(1, release);
    const int seen = repaired ? searchers.fetch_add(0, seq_cst) : searchers.load(seq_cst);
    if (seen == 0) {
        wakes.store(1, release);
        futex_wake(wakes);
    }
    worker.join();
}

// The released-workers field counts down each time an idle worker is trimmed, and never up again. When it
// wraps around it looks as if there were enough workers, and nobody is woken any more. (Eight bits instead of
// sixteen.)
EXHIBIT(fork_join_counter_8330017, "https://bugs.openjdk.org/browse/JDK-8330017") {
    atomic<std::int8_t> released{-127}; // after months of trimming
    atomic<std::uint32_t> work{0};
    thread trimmer([&] {
        for (int i = 0; i < 2; ++i) {
            if (!repaired) released.fetch_sub(1, acq_rel);
        }
    });
    thread worker([&] {
        while (work.load(acquire) == 0) futex_wait(work, 0);
    });
    trimmer.join();
    work.store(1, release);
    if (released.load(acquire) < 0) (void)futex_wake(work); // fewer workers than wanted: wake one
    worker.join();
}
