// Fork-join, loops, and functions with keys.
#include <computed/rows/pools.hpp>

#include <ekiden/execution/post.hpp>
#include <ekiden/execution/strand.hpp>
#include <ekiden/fork/fork_join.hpp>
#include <ekiden/fork/parallel_for.hpp>
#include <ekiden/lanes/lanes.hpp>
#include <ekiden/sync/channel.hpp>
#include <ekiden/timer/steady_timer.hpp>

#include <algorithm>
#include <cmath>

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
    const std::int64_t n = s.cores > 16 ? 34 : 22;
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

/// An uneven tree: each node works 200 ns and has two children, which share the rest of the nodes unevenly.
/// The time of a node.
void grow(fork_scope& here, std::uint64_t nodes, std::uint64_t seed) {
    work(200);
    if (nodes <= 1) return;
    sys::random dice(seed);
    const double part = dice.below(1'000'000) / 1e6;
    const auto left = static_cast<std::uint64_t>(static_cast<double>(nodes - 1) * part * part * part);
    const std::uint64_t a = dice.next(), b = dice.next(), right = nodes - 1 - left;
    if (left == 0) return grow(here, right, b);
    parallel_invoke(
        here, [=](fork_scope& p) { grow(p, left, a); }, [=](fork_scope& p) { grow(p, right, b); });
}
double uneven_tree(const setting& s) {
    const std::uint64_t nodes = 10'000 + std::uint64_t{1000} * s.cores;
    own_pool pool(s.cores);
    const auto go = [&] {
        pool.get().submit([=] { parallel_invoke([=](fork_scope& p) { grow(p, nodes, 42); }); }).get();
    };
    go();
    const std::uint64_t begin = sys::now_ns();
    go();
    return static_cast<double>(sys::now_ns() - begin) / static_cast<double>(nodes);
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

/// The numbers of keys that the producers use, made before the measurement. With `Zipf`, key k has a share of
/// about 1 / (k ln(keys)).
constexpr unsigned keys = 10'000;
template <bool Zipf>
std::vector<std::uint32_t> choose(std::uint64_t count, unsigned producer) {
    sys::random dice(producer + 1);
    std::vector<std::uint32_t> chosen;
    for (std::uint64_t i = 0; i != count; ++i)
        chosen.push_back(Zipf ? static_cast<std::uint32_t>(std::pow(keys, dice.below(1'000'000) / 1e6)) - 1
                              : dice.below(keys));
    return chosen;
}

/// Two equal rounds, and the time of a task in the second one. post(k, f) posts a task.
template <class Post>
double rounds_of(const setting& s, unsigned producers, bool is_zipf, tally& done, Post post) {
    const std::uint64_t each =
        static_cast<std::uint64_t>(s.scale * static_cast<double>(20'000 + 500 * s.cores)) / producers;
    std::vector<std::uint32_t> counts(keys);
    std::vector<std::vector<std::uint32_t>> chosen;
    for (unsigned me = 0; me != producers; ++me)
        chosen.push_back(is_zipf ? choose<true>(each, me) : choose<false>(each, me));
    const auto round = [&] {
        return together(producers, [&](unsigned me) {
            for (const std::uint32_t key : chosen[me])
                post(key, [&done, count = &counts[key]] {
                    ++*count;
                    done.hit();
                });
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

/// A task with one of 10,000 keys. Each task increments a number of its key.
template <unsigned Producers, bool Zipf>
double lane_tasks(const setting& s) {
    tally done;
    own_pool pool(s.cores);
    lanes<std::uint64_t, thread_pool::executor_type> all(pool.get().get_executor());
    return rounds_of(s, Producers != 0 ? Producers : s.cores, Zipf, done,
                     [&](std::uint32_t key, auto f) { (void)all.post(key, std::move(f)); });
}

/// The same with a strand for each key.
double strand_tasks(const setting& s) {
    using of_pool = strand<thread_pool::executor_type>;
    tally done;
    own_pool pool(s.cores);
    std::vector<of_pool> all;
    for (unsigned i = 0; i != keys; ++i) all.emplace_back(pool.get().get_executor());
    return rounds_of(s, s.cores, false, done,
                     [&](std::uint32_t key, auto f) { ekiden::post(all[key], std::move(f)); });
}

/// As many threads as cores set a timer to an hour and cancel it. The time of a timer, until its handler has
/// run.
double timers(const setting& s) {
    const std::uint64_t each = 4'000 / s.cores + 100;
    tally done;
    own_pool pool(s.cores);
    const auto round = [&] {
        return together(s.cores, [&](unsigned) {
            steady_timer timer(pool.get());
            for (std::uint64_t i = 0; i != each; ++i) {
                timer.expires_after(std::chrono::hours(1));
                timer.async_wait([&done](std::error_code) { done.hit(); });
                timer.cancel();
            }
        });
    };
    (void)round();
    done.wait(each * s.cores);
    const double producing = round();
    const std::uint64_t begin = sys::now_ns();
    done.wait(2 * each * s.cores);
    return (producing + static_cast<double>(sys::now_ns() - begin)) / static_cast<double>(each * s.cores);
}

using items = channel<std::uint64_t>;

/// An item that goes through a channel. One half of the threads, as many as cores, push, and the others pop.
template <std::size_t Capacity>
double channel_items(const setting& s) {
    const unsigned pairs = std::max(s.cores / 2, 1U);
    const std::uint64_t each =
        static_cast<std::uint64_t>(s.scale * static_cast<double>(20'000 + 500 * s.cores)) / pairs;
    items passed(Capacity);
    return together(2 * pairs,
                    [&](unsigned me) {
                        for (std::uint64_t i = 0; i != each; ++i) {
                            if (me % 2 == 0)
                                (void)passed.push(i);
                            else
                                (void)passed.pop();
                        }
                    })
           / static_cast<double>(each * pairs);
}

/// A task that posts its successor, and then works. The time of a task.
template <std::uint64_t Ns>
double successors(const setting& s) {
    const std::uint64_t count = static_cast<std::uint64_t>(s.scale * 20'000);
    tally done;
    own_pool pool(s.cores);
    struct step {
        thread_pool* pool;
        tally* done;
        std::uint64_t left;
        void operator()() const {
            if (left != 0) pool->post(step{pool, done, left - 1});
            if constexpr (Ns != 0) work(Ns);
            done->hit();
        }
    };
    const auto round = [&] { pool.get().post(step{&pool.get(), &done, count - 1}); };
    round();
    done.wait(count);
    const std::uint64_t begin = sys::now_ns();
    round();
    done.wait(2 * count);
    return static_cast<double>(sys::now_ns() - begin) / static_cast<double>(count);
}

const bool added = add({"fork-join fib", "ekiden", &fork_join, 0})
                   && add({"uneven tree", "ekiden", &uneven_tree, 200})
                   && add({"loop of 100 us, awake", "ekiden", &loop<0>, 100'000})
                   && add({"loop of 100 us, asleep", "ekiden", &loop<5000>, 100'000})
                   && add({"lane task, 1 producer", "ekiden", &lane_tasks<1, false>, 0})
                   && add({"lane task, a producer per core", "ekiden", &lane_tasks<0, false>, 0})
                   && add({"lane task, Zipf keys, a producer per core", "ekiden", &lane_tasks<0, true>, 0})
                   && add({"strand task, a producer per core", "ekiden", &strand_tasks, 0})
                   && add({"timer set and canceled, a thread per core", "ekiden", &timers, 0})
                   && add({"channel item, unbounded", "ekiden", &channel_items<items::unbounded>, 0})
                   && add({"channel item, capacity 1024", "ekiden", &channel_items<1024>, 0})
                   && add({"empty task that posts the next one", "ekiden", &successors<0>, 0})
                   && add({"task of 400 ns that posts the next one", "ekiden", &successors<400>, 400});

} // namespace
} // namespace ekiden::rows
