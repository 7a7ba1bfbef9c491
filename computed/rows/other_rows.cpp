// Fork-join, loops, lanes and locks.
#include <computed/rows/pools.hpp>

#include <ekiden/fork/fork_join.hpp>
#include <ekiden/fork/parallel_for.hpp>
#include <ekiden/lanes/lanes.hpp>
#include <ekiden/sync/barrier.hpp>
#include <ekiden/sync/mutex.hpp>

#include <algorithm>

namespace ekiden::rows {
namespace {

[[gnu::noinline]] std::int64_t fib(fork_scope& here, std::int64_t n) {
    if (n < 2) return n;
    auto [a, b] = parallel_invoke(
        here, [n](fork_scope& p) { return fib(p, n - 1); }, [n](fork_scope& p) { return fib(p, n - 2); });
    return a + b;
}

/// The time of a fork of fib, in ns of the wall clock.
double fork_join(const setting& s) {
    const std::int64_t n = s.cores > 16 ? 26 : 22;
    std::int64_t forks[2] = {0, 0}; // of fib(i - 2) and fib(i - 1)
    std::int64_t all = 0;
    for (std::int64_t i = 2; i <= n; ++i) {
        all = forks[0] + forks[1] + 1;
        forks[0] = forks[1], forks[1] = all;
    }
    own_pool pool(s.cores);
    const auto go = [&](std::int64_t of) {
        return pool.get()
            .submit([of] { return std::get<0>(parallel_invoke([of](fork_scope& p) { return fib(p, of); })); })
            .get();
    };
    (void)go(n - 3);
    const std::uint64_t begin = sys::now_ns();
    (void)go(n);
    return static_cast<double>(sys::now_ns() - begin) / static_cast<double>(all);
}

/// A loop of 200 rounds of 500 ns each, 100 us in all. Pause is the time between the loops, in us.
template <unsigned Pause>
double loop(const setting& s) {
    constexpr unsigned rounds = 21;
    own_pool pool(s.cores);
    std::vector<double> times;
    for (unsigned r = 0; r != rounds; ++r) {
        if (Pause != 0) sleep_ns(Pause * std::uint64_t{1000});
        times.push_back(pool.get()
                            .submit([] {
                                const std::uint64_t begin = sys::now_ns();
                                parallel_for(0, 200, [](int) { work(500); });
                                return static_cast<double>(sys::now_ns() - begin);
                            })
                            .get());
    }
    std::nth_element(times.begin(), times.begin() + rounds / 2, times.end());
    return times[rounds / 2];
}

/// A task with a key, uniform over 10,000 keys. Each task increments a number of its key.
template <unsigned Producers>
double lane_tasks(const setting& s) {
    constexpr std::uint64_t keys = 10'000;
    const unsigned producers = Producers != 0 ? Producers : s.cores;
    const std::uint64_t each =
        static_cast<std::uint64_t>(s.scale * static_cast<double>(20'000 + 500 * s.cores)) / producers;
    tally done;
    std::vector<std::uint32_t> counts(keys);
    own_pool pool(s.cores);
    lanes<std::uint64_t, thread_pool::executor_type> all(pool.get().get_executor());
    const auto round = [&] {
        return together(producers, [&](unsigned me) {
            sys::random dice(me + 1);
            for (std::uint64_t i = 0; i != each; ++i) {
                const std::uint64_t key = dice.below(keys);
                (void)all.post(key, [&done, count = &counts[key]] {
                    ++*count;
                    done.hit();
                });
            }
        });
    };
    (void)round();
    done.wait(each * producers);
    const std::uint64_t begin = sys::now_ns();
    const double producing = round();
    const double before = static_cast<double>(sys::now_ns() - begin) - producing;
    done.wait(2 * each * producers);
    return (static_cast<double>(sys::now_ns() - begin) - before) / static_cast<double>(each * producers);
}

/// The time between two sections of a mutex that as many threads as cores lock, or Threads.
template <class Mutex, unsigned Threads>
double sections(const setting& s) {
    const unsigned threads = Threads != 0 ? Threads : s.cores;
    Mutex lock;
    std::uint64_t guarded = 0;
    sys::atomic<bool> over{false};
    const double took = together(threads + 1, [&](unsigned me) {
        if (me == threads) {
            sleep_ns(static_cast<std::uint64_t>(5'000'000 * s.scale));
            over.store(true, sys::relaxed);
            return;
        }
        while (!over.load(sys::relaxed)) {
            lock.lock();
            ++guarded;
            lock.unlock();
        }
    });
    return took / static_cast<double>(std::max<std::uint64_t>(guarded, 1));
}

double barrier_phase(const setting& s) {
    constexpr unsigned phases = 200;
    barrier all(s.cores);
    return together(s.cores,
                    [&](unsigned) {
                        for (unsigned i = 0; i != phases; ++i) all.arrive_and_wait();
                    })
           / phases;
}

const bool added = add({"fork-join fib", "ekiden", &fork_join, 0})
                   && add({"loop of 100 us, awake", "ekiden", &loop<0>, 100'000})
                   && add({"loop of 100 us, asleep", "ekiden", &loop<5000>, 100'000})
                   && add({"lane task, 1 producer", "ekiden", &lane_tasks<1>, 0})
                   && add({"lane task, a producer per core", "ekiden", &lane_tasks<0>, 0})
                   && add({"mutex, a thread per core", "ekiden", &sections<mutex, 0>, 0})
                   && add({"mutex, 64 threads", "ekiden", &sections<mutex, 64>, 0})
                   && add({"mutex, a thread per core", "futex mutex", &sections<sys::slow_lock, 0>, 0})
                   && add({"barrier, a thread per core", "ekiden", &barrier_phase, 0});

} // namespace
} // namespace ekiden::rows
