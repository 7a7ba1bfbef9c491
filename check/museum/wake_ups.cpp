// Lost wake-ups.
#include <check/museum/exhibit.hpp>

namespace wake_ups_exhibits {

using namespace ekiden::sys;
namespace check = ekiden::check;

// The code assumed that the notifier's read-modify-write of the flag is a full fence. So its read of the
// waiters moved before it.
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

// The semaphore's release wakes a waiter only if the count was zero. So the second of two waiters keeps
// sleeping.
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

// The waiter counts itself and relies on the kernel for a barrier. The notifier reads the count.
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

// park() consumes an existing token and returns without a barrier. So the store that empties the counter may
// overwrite the next token, although the condition was read before that token came.
EXHIBIT(jdk_park_6822370, "https://bugs.openjdk.org/browse/JDK-6822370") {
    atomic<std::uint32_t> token{1}; // left from an earlier unpark
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

// A condition variable with two groups that alternate. A late waiter of a finished group finds and consumes a
// signal for the group that uses the slot now.
EXHIBIT(glibc_condition_25847, "https://sourceware.org/bugzilla/show_bug.cgi?id=25847") {
    // The signals of the slot. The low byte counts them. The other bytes are the generation that they belong
    // to.
    atomic<std::uint32_t> signals{0};
    atomic<int> registered{0};
    const auto wait_in = [&](std::uint32_t generation) {
        for (;;) {
            std::uint32_t seen = signals.load(acquire);
            // This group is finished, and all its waiters have been woken.
            if (repaired && seen >> 8 != generation) return;
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
    // The group ends with a signal for its waiter. Then the next generation uses the slot.
    signals.store(1, release);
    (void)futex_wake_all(signals);
    signals.store(1 << 8, release);
    (void)futex_wake_all(signals);
    while (registered.load(acquire) != 2) yield();
    signals.fetch_add(1, release); // for the waiter of the new group
    (void)futex_wake_all(signals);
    next.join();
    late.join();
}

// Tokio's scheduler, late 2019. A thread that schedules a task reads, with a seq_cst load, whether a worker
// is searching. If so, it wakes no worker. The searching worker stops searching with a seq_cst
// read-modify-write and then checks the queue once more. The push and the check of the queue are not seq_cst,
// so each side may miss the other. With a read-modify-write instead of the load, the thread takes part in the
// modification order of the state. Then the worker's own read-modify-write acquires the push.
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

// The field of released workers is decremented each time an idle worker is trimmed, and is never incremented.
// When it wraps around, there seem to be enough workers, and no worker is woken any more. (This model uses
// eight bits instead of sixteen.)
EXHIBIT(fork_join_counter_8330017, "https://bugs.openjdk.org/browse/JDK-8330017") {
    atomic<std::int8_t> released{-127}; // the value after months of trimming
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
    if (released.load(acquire) < 0) (void)futex_wake(work); // fewer workers than wanted, so wakes one
    worker.join();
}

} // namespace wake_ups_exhibits
