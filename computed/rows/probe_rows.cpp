// Probes of the machine: each shows one cost of the table. On the computed machine, they show what the engine
// makes of it.
#include <computed/rows/row.hpp>

#include <ekiden/sys/asymmetric_fence.hpp>

#include <algorithm>

namespace ekiden::rows {
namespace {

/// The time of one call of `f`, called `count` times by one thread.
template <class F>
double each(unsigned count, F f) {
    for (unsigned i = 0; i != count / 10; ++i) f();
    const std::uint64_t begin = sys::now_ns();
    for (unsigned i = 0; i != count; ++i) f();
    return static_cast<double>(sys::now_ns() - begin) / count;
}

double load(const setting&) {
    sys::atomic<unsigned> word{0};
    return each(1'000'000, [&] { (void)word.load(sys::acquire); });
}
double modify(const setting&) {
    sys::atomic<unsigned> word{0};
    return each(1'000'000, [&] { word.fetch_add(1, sys::acq_rel); });
}
double fence(const setting&) {
    return each(1'000'000, [] { sys::fence(sys::seq_cst); });
}
double heavy(const setting&) {
    return each(20'000, [] { sys::fence_heavy(); });
}
/// The same while a thread on another core runs, which the fence must interrupt.
double heavy_with_another(const setting&) {
    sys::atomic<bool> runs{false}, over{false};
    sys::thread other([&] {
        bind(1);
        runs.store(true, sys::release);
        while (!over.load(sys::acquire)) sys::spin_hint();
    });
    bind(0);
    while (!runs.load(sys::acquire)) sys::yield();
    const double took = heavy({});
    over.store(true, sys::release);
    other.join();
    return took;
}
double pause(const setting&) {
    return each(1'000'000, [] { sys::spin_hint(); });
}
double yield(const setting&) {
    return each(100'000, [] { sys::yield(); });
}
double read_clock(const setting&) {
    return each(1'000'000, [] { (void)sys::now_ns(); });
}
double allocate(const setting&) {
    return each(1'000'000, [] {
        void* volatile at = ::operator new(64);
        ::operator delete(at);
    });
}
/// One thread allocates blocks, and another thread frees them. The figure is the time to free one block.
double delete_of_another(const setting&) {
    constexpr unsigned count = 20'000, rounds = 10;
    std::vector<void*> blocks(count);
    double took = 0;
    for (unsigned r = 0; r != rounds; ++r) {
        sys::thread([&] {
            for (void*& one : blocks) one = ::operator new(64);
        }).join();
        const std::uint64_t begin = sys::now_ns();
        for (void* const one : blocks) ::operator delete(one);
        took += static_cast<double>(sys::now_ns() - begin);
    }
    return took / (count * rounds);
}
double wake_nobody(const setting&) {
    sys::atomic<std::uint32_t> word{0};
    return each(100'000, [&] { sys::futex_wake(word); });
}
double do_not_wait(const setting&) {
    sys::atomic<std::uint32_t> word{0};
    return each(100'000, [&] { sys::futex_wait(word, 1); });
}
double start_and_join(const setting&) {
    return each(500, [] { sys::thread([] {}).join(); });
}

/// Two threads write the same word by turns. The time of one turn.
double ping_pong(const setting&) {
    constexpr unsigned turns = 100'000;
    alignas(sys::isolation) sys::atomic<unsigned> word{0};
    return together(2,
                    [&](unsigned me) {
                        bind(me);
                        for (unsigned i = me; i < turns; i += 2) {
                            while (word.load(sys::acquire) != i) {
                            }
                            word.store(i + 1, sys::release);
                        }
                    })
           / turns;
}
/// Two threads increment the same word. The time of one increment.
double contended(const setting&) {
    constexpr unsigned count = 500'000;
    alignas(sys::isolation) sys::atomic<unsigned> word{0};
    return together(2,
                    [&](unsigned me) {
                        bind(me);
                        for (unsigned i = 0; i != count; ++i) word.fetch_add(1, sys::acq_rel);
                    })
           / (2.0 * count);
}
/// Two threads wake each other with a futex by turns. The time of one turn.
double futex_ping_pong(const setting&) {
    constexpr unsigned turns = 4'000;
    alignas(sys::isolation) sys::atomic<std::uint32_t> word{0};
    return together(2,
                    [&](unsigned me) {
                        bind(me);
                        for (unsigned i = me; i < turns; i += 2) {
                            for (std::uint32_t seen = 0; (seen = word.load(sys::acquire)) != i;)
                                sys::futex_wait(word, seen);
                            word.store(i + 1, sys::release);
                            sys::futex_wake(word);
                        }
                    })
           / turns;
}
/// A thread sleeps for 5 ms, and another thread wakes it. From before the wake-up until the thread runs, and
/// the time of the call that wakes it.
template <bool Call>
double futex_wake(const setting&) {
    constexpr unsigned rounds = 31;
    sys::atomic<std::uint32_t> word{0};
    std::vector<double> times, calls;
    std::uint64_t woken = 0;
    sys::atomic<std::uint32_t> answered{0};
    sys::thread sleeper([&] {
        bind(1);
        for (unsigned i = 0; i != rounds; ++i) {
            while (word.load(sys::acquire) == i) sys::futex_wait(word, i);
            woken = sys::now_ns();
            answered.store(i + 1, sys::release);
        }
    });
    bind(0);
    for (unsigned i = 0; i != rounds; ++i) {
        sleep_ns(5'000'000);
        const std::uint64_t begin = sys::now_ns();
        word.store(i + 1, sys::release);
        sys::futex_wake(word);
        calls.push_back(static_cast<double>(sys::now_ns() - begin));
        while (answered.load(sys::acquire) != i + 1) sys::spin_hint();
        times.push_back(static_cast<double>(woken - begin));
    }
    sleeper.join();
    std::vector<double>& asked = Call ? calls : times;
    std::nth_element(asked.begin(), asked.begin() + rounds / 2, asked.end());
    return asked[rounds / 2];
}

bool probe(const char* name, measure run) { return add({std::string("probe: ") + name, "machine", run, 0}); }

const bool added =
    probe("load", &load) && probe("read-modify-write", &modify) && probe("fence", &fence)
    && probe("heavy fence", &heavy) && probe("heavy fence, beside another thread", &heavy_with_another)
    && probe("pause", &pause) && probe("yield", &yield) && probe("clock", &read_clock)
    && probe("new and delete", &allocate) && probe("delete for another thread", &delete_of_another)
    && probe("futex wake of nobody", &wake_nobody) && probe("futex wait that returns", &do_not_wait)
    && probe("start and join a thread", &start_and_join) && probe("a line by turns", &ping_pong)
    && probe("a contended increment", &contended) && probe("futex by turns", &futex_ping_pong)
    && probe("futex wake after 5 ms", &futex_wake<false>)
    && probe("the call of that wake", &futex_wake<true>);

} // namespace
} // namespace ekiden::rows
