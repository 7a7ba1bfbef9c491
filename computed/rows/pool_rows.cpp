// Tasks of pools: throughput, nested spawn, wake-ups, latency.
#include <computed/rows/pools.hpp>
#include <computed/rows/source_pool.hpp>

#include <ekiden/fork/parallel_for.hpp>
#include <ekiden/future/future.hpp>

#include <algorithm>
#include <optional>

namespace ekiden::rows {
namespace {

std::uint64_t tasks_for(const setting& s, std::uint64_t base, std::uint64_t per_core) {
    return static_cast<std::uint64_t>(s.scale * static_cast<double>(base + per_core * s.cores));
}

/// The time of one task, in ns of the wall clock, when `producers` threads outside the pool post tasks of
/// Work ns.
template <class Pool, unsigned Producers, unsigned Work>
double throughput(const setting& s) {
    const unsigned producers = Producers != 0 ? Producers : s.cores;
    const std::uint64_t each = tasks_for(s, 20'000, Work != 0 ? 1500 : 500) / producers;
    tally done;
    Pool pool(s.cores);
    const auto round = [&](std::uint64_t count) {
        return together(producers, [&](unsigned) {
            for (std::uint64_t i = 0; i != count; ++i)
                pool.post([&done] {
                    if (Work != 0) work(Work);
                    done.hit();
                });
        });
    };
    (void)round(each / 4);
    done.wait(each / 4 * producers);
    const std::uint64_t begin = sys::now_ns();
    const double producing = round(each);
    const double before =
        static_cast<double>(sys::now_ns() - begin) - producing; // the start of the producers
    done.wait((each / 4 + each) * producers);
    return (static_cast<double>(sys::now_ns() - begin) - before) / static_cast<double>(each * producers);
}

template <class Pool>
struct tree {
    Pool* pool;
    tally* done;
    unsigned levels;
    void operator()() const {
        if (levels != 0) {
            pool->post(tree{pool, done, levels - 1});
            pool->post(tree{pool, done, levels - 1});
        }
        done->hit();
    }
};

/// A binary tree of empty tasks, in which each task posts two.
template <class Pool>
double nested_spawn(const setting& s) {
    const unsigned levels = s.cores > 16 ? 17 : 15;
    const std::uint64_t all = (std::uint64_t{2} << levels) - 1;
    tally done;
    Pool pool(s.cores);
    pool.post(tree<Pool>{&pool, &done, levels});
    done.wait(all);
    const std::uint64_t begin = sys::now_ns();
    pool.post(tree<Pool>{&pool, &done, levels});
    done.wait(2 * all);
    return static_cast<double>(sys::now_ns() - begin) / static_cast<double>(all);
}

/// All workers sleep. Then a thread posts as many tasks as there are workers. The time until all tasks run at
/// once.
template <class Pool>
double wake_all(const setting& s) {
    constexpr unsigned rounds = 9;
    Pool pool(s.cores);
    std::vector<double> times;
    for (unsigned r = 0; r != rounds; ++r) {
        sys::atomic<unsigned> started{0};
        sys::atomic<std::uint64_t> complete{0};
        sys::atomic<unsigned> ended{0};
        sleep_ns(5'000'000);
        const std::uint64_t begin = sys::now_ns();
        for (unsigned i = 0; i != s.cores; ++i)
            pool.post([&, all = s.cores] {
                if (started.fetch_add(1, sys::acq_rel) + 1 == all)
                    complete.store(sys::now_ns(), sys::release);
                while (complete.load(sys::acquire) == 0) sys::spin_hint();
                ended.fetch_add(1, sys::release);
            });
        while (ended.load(sys::acquire) != s.cores) sleep_ns(100'000);
        times.push_back(static_cast<double>(complete.load(sys::relaxed) - begin));
    }
    std::nth_element(times.begin(), times.begin() + rounds / 2, times.end());
    return times[rounds / 2];
}

/// All workers sleep. Then a thread posts one task. The time until it runs.
template <class Pool>
double wake_one(const setting& s) {
    constexpr unsigned rounds = 9;
    Pool pool(s.cores);
    std::vector<double> times;
    for (unsigned r = 0; r != rounds; ++r) {
        sys::atomic<std::uint64_t> ran{0};
        sleep_ns(5'000'000);
        const std::uint64_t begin = sys::now_ns();
        pool.post([&] { ran.store(sys::now_ns(), sys::release); });
        while (ran.load(sys::acquire) == 0) sleep_ns(100'000);
        times.push_back(static_cast<double>(ran.load(sys::relaxed) - begin));
    }
    std::nth_element(times.begin(), times.begin() + rounds / 2, times.end());
    return times[rounds / 2];
}

/// From submit() until get() returns the result. The caller submits the next task at once.
double latency(const setting& s) {
    own_pool pool(s.cores);
    constexpr unsigned rounds = 4000;
    for (unsigned i = 0; i != rounds / 4; ++i) (void)pool.get().submit([i] { return i; }).get();
    const std::uint64_t begin = sys::now_ns();
    for (unsigned i = 0; i != rounds; ++i) (void)pool.get().submit([i] { return i; }).get();
    return static_cast<double>(sys::now_ns() - begin) / rounds;
}

template <class Pool>
bool add_pool(const char* system) {
    add({"empty task, 1 producer", system, &throughput<Pool, 1, 0>, 0});
    add({"empty task, 4 producers", system, &throughput<Pool, 4, 0>, 0});
    add({"empty task, a producer per core", system, &throughput<Pool, 0, 0>, 0});
    add({"task of 1 us, 1 producer", system, &throughput<Pool, 1, 1000>, 1000});
    add({"task of 1 us, 4 producers", system, &throughput<Pool, 4, 1000>, 1000});
    add({"task of 1 us, a producer per core", system, &throughput<Pool, 0, 1000>, 1000});
    add({"nested spawn", system, &nested_spawn<Pool>, 0});
    add({"wake one", system, &wake_one<Pool>, 0});
    return add({"wake all", system, &wake_all<Pool>, 0});
}

/// The processor time that the workers of an idle pool use in 100 ms.
double idle_cost(const setting& s) {
    own_pool pool(s.cores);
    tally done;
    for (unsigned i = 0; i != 8 * s.cores; ++i)
        pool.post([&done] {
            work(10'000);
            done.hit();
        });
    done.wait(std::uint64_t{8} * s.cores);
    sleep_ns(5'000'000);
    const std::uint64_t begin = process_cpu_ns();
    sleep_ns(100'000'000);
    return static_cast<double>(process_cpu_ns() - begin);
}

/// The steps of the source, each alone and then one after the other.
template <steps S>
bool add_source(const char* system) {
    return add({"source: empty task, 1 producer", system, &throughput<source_pool<S>, 1, 0>, 0})
           && add({"source: nested spawn", system, &nested_spawn<source_pool<S>>, 0});
}
constexpr steps padded{.padding = true};
constexpr steps batched{.padding = true, .batch = true};
constexpr steps local{.padding = true, .batch = true, .local_queue = true};
constexpr steps pooled{.padding = true, .batch = true, .local_queue = true, .node_pool = true};

const bool added_source = add_source<steps{}>("stealing") && add_source<padded>("alone-padding")
                          && add_source<steps{.batch = true}>("alone-batch")
                          && add_source<steps{.local_queue = true}>("alone-local")
                          && add_source<steps{.node_pool = true}>("alone-node-pool")
                          && add_source<steps{.without_future = true}>("alone-no-future")
                          && add_source<batched>("sum-batch") && add_source<local>("sum-local")
                          && add_source<pooled>("sum-node-pool");

const bool added = add_pool<own_pool>("ekiden") && add_pool<shared_queue>("shared queue")
                   && add_pool<lock_free_queue>("lock-free queue") && add_pool<textbook>("textbook stealing")
                   && add_pool<source_pool<steps{}>>("source, plain")
                   && add_pool<source_pool<pooled>>("source, tuned")
                   && add({"idle pool, processor time in 100 ms", "ekiden", &idle_cost, 0})
                   && add({"submit and get", "ekiden", &latency, 0});

} // namespace
} // namespace ekiden::rows
