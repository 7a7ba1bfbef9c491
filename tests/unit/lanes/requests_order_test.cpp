// Random functions of several threads: the orders of all keys, and the orders of the posts, have no cycle.
#include "../effort.hpp"
#include "tally.hpp"

#include <ekiden/lanes/lanes.hpp>
#include <ekiden/pool/thread_pool.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <doctest/doctest.h>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace {

using namespace ekiden;
using ekiden_test::tally;

/// The functions that have used a key, in their order. Readers next to each other have no order.
struct key_log {
    struct entry {
        std::size_t function;
        bool is_shared;
    };
    std::vector<entry> all;
    std::mutex of_readers; // a writer does not lock it: the lanes order writers and readers

    void write(std::size_t function) { all.push_back({function, false}); }
    void read(std::size_t function) {
        const std::lock_guard guard(of_readers);
        all.push_back({function, true});
    }
};

/// A graph whose edges lead from a function to a later one.
class order_graph {
public:
    explicit order_graph(std::size_t functions) : later_(functions), earlier_(functions) {}

    void add(std::size_t first, std::size_t second) {
        later_[first].push_back(second);
        ++earlier_[second];
    }
    void add(const key_log& log) {
        std::vector<std::size_t> readers; // since the last writer
        std::vector<std::size_t> writer;  // the last one, if there is one
        for (const key_log::entry& e : log.all) {
            for (const std::size_t w : writer) add(w, e.function);
            if (e.is_shared) {
                readers.push_back(e.function);
                continue;
            }
            for (const std::size_t r : readers) add(r, e.function);
            readers.clear();
            writer = {e.function};
        }
    }
    [[nodiscard]] bool has_cycle() const {
        std::vector<std::size_t> earlier = earlier_;
        std::vector<std::size_t> ready;
        for (std::size_t f = 0; f != earlier.size(); ++f)
            if (earlier[f] == 0) ready.push_back(f);
        std::size_t sorted = 0;
        for (; !ready.empty(); ++sorted) {
            const std::size_t next = ready.back();
            ready.pop_back();
            for (const std::size_t f : later_[next])
                if (--earlier[f] == 0) ready.push_back(f);
        }
        return sorted != earlier.size();
    }

private:
    std::vector<std::vector<std::size_t>> later_;
    std::vector<std::size_t> earlier_; // the number of edges that lead to each function
};

constexpr std::size_t poster_count = 3;
constexpr int logged_keys = 6;

/// The logs of one round.
struct round_of_posts {
    explicit round_of_posts(std::size_t of_each) : count(of_each) {}

    /// Posts the functions of one thread.
    void post(const lanes<int, thread_pool::executor_type>& l, std::size_t poster, std::uint64_t random) {
        const auto below = [&random](unsigned range) {
            random = random * 6364136223846793005U + 1442695040888963407U;
            return static_cast<unsigned>(random >> 33) % range;
        };
        for (std::size_t i = 0; i != count; ++i) {
            const std::size_t function = poster * count + i;
            const auto a = static_cast<int>(below(logged_keys));
            const auto b =
                static_cast<int>((static_cast<unsigned>(a) + 1 + below(logged_keys - 1)) % logged_keys);
            const auto writes = [this, function](int key) { log(key).write(function); };
            const auto reads = [this, function](int key) { log(key).read(function); };
            bool is_in = false;
            switch (below(5)) {
            case 0:
            case 1:
                is_in = l.post(a, all.function([=] { writes(a); }));
                break;
            case 2:
                is_in = l.post({a, b}, all.function([=] { writes(a), writes(b); }));
                break;
            case 3:
                is_in = l.post(l.keys().write(a).read(b), all.function([=] { writes(a), reads(b); }));
                break;
            default:
                is_in = l.post(l.keys().read(a, b), all.function([=] { reads(a), reads(b); }));
            }
            if (!is_in) refused.fetch_add(1);
        }
    }
    key_log& log(int key) { return logs[static_cast<std::size_t>(key)]; }

    [[nodiscard]] bool has_cycle() const {
        order_graph graph(poster_count * count);
        for (std::size_t f = 0; f != poster_count * count; ++f)
            if ((f + 1) % count != 0) graph.add(f, f + 1);
        for (const key_log& of_key : logs) graph.add(of_key);
        return graph.has_cycle();
    }

    const std::size_t count;
    std::array<key_log, logged_keys> logs;
    tally all;
    std::atomic<int> refused{0};
};

/// Posts from all threads at once, and checks the orders.
void check_round(thread_pool& pool, const lanes_options& options, std::size_t count, std::uint64_t seed) {
    round_of_posts round(count);
    const lanes<int, thread_pool::executor_type> l(pool.get_executor(), options);
    std::atomic<std::size_t> ready{0};
    std::vector<std::thread> threads;
    for (std::size_t p = 0; p != poster_count; ++p) {
        threads.emplace_back([&, p] {
            ready.fetch_add(1);
            while (ready.load() != poster_count) std::this_thread::yield();
            round.post(l, p, seed * poster_count + p);
        });
    }
    for (std::thread& t : threads) t.join();
    pool.wait_idle();
    CHECK_FALSE(round.has_cycle());
    CHECK(round.refused.load() == 0);
    CHECK(round.all.ran.load() == static_cast<int>(poster_count * count));
    CHECK(round.all.is_settled());
}

/// Random operations on lanes. All functions write or read key 0.
struct mixed_operations {
    mixed_operations(thread_pool& of, const lanes_options& options)
        : pool(of), l(of.get_executor(), options) {}

    auto writer() {
        return all.function([this] {
            if (inside.fetch_add(1) != 0) wrong.fetch_add(1);
            std::this_thread::yield();
            inside.fetch_sub(1);
        });
    }
    auto reader() {
        return all.function([this] {
            if (inside.load() != 0) wrong.fetch_add(1);
        });
    }
    void do_one(unsigned drawn) {
        const auto key = static_cast<int>(drawn / 16 % 5);
        switch (drawn % 16) {
        case 0:
            if (drawn / 80 % 8 == 0) (void)l.close(key);
            break;
        case 1:
            (void)l.wait_idle_for(key, std::chrono::milliseconds(1)); // lets the lanes catch up
            break;
        case 2:
            (void)(l.depth(key) + l.active() + l.metrics().run);
            break;
        case 3:
            l.dispatch({0, key}, writer());
            break;
        case 4:
            l.dispatch(0, writer());
            break;
        case 5:
        case 6:
            (void)l.post(0, writer());
            break;
        case 7:
        case 8:
            (void)l.post(l.keys().read(0).write(key + 1), reader());
            break;
        case 9:
            (void)l.defer(l.keys().read(0, key + 1), reader());
            break;
        default:
            (void)l.post({key, 0, key + 2}, writer());
        }
    }
    /// Does random operations, on this thread or in tasks of the pool.
    void do_all(std::uint64_t random, bool in_pool) {
        for (int i = ekiden_test::rounds(5000); i != 0; --i) {
            random = random * 6364136223846793005U + 1442695040888963407U;
            const auto drawn = static_cast<unsigned>(random >> 33);
            if (in_pool)
                pool.post([this, drawn] { do_one(drawn); });
            else
                do_one(drawn);
        }
    }

    thread_pool& pool;
    tally all;
    std::atomic<int> inside{0}; // functions that write key 0
    std::atomic<int> wrong{0};
    const lanes<int, thread_pool::executor_type> l;
};

} // namespace

TEST_CASE("The check of orders finds a cycle") {
    key_log x;
    key_log y;
    x.write(0);
    x.read(1);
    y.write(1);
    for (const bool is_bad : {false, true}) {
        if (is_bad) y.read(0);
        order_graph graph(2);
        graph.add(x);
        graph.add(y);
        CHECK(graph.has_cycle() == is_bad);
    }
}

TEST_CASE("Functions of several threads run in one order for all keys, which contains each thread's order") {
    thread_pool pool(2);
    std::uint64_t seed = 0;
    for (const std::size_t capacity : {0, 2}) {
        const lanes_options options{.lane_capacity = capacity, .policy = when_full::block, .shards = 8};
        for (int i = ekiden_test::rounds(500); i != 0; --i) check_round(pool, options, 20, ++seed);
        check_round(pool, options, static_cast<std::size_t>(ekiden_test::rounds(10'000)), ++seed);
    }
}

TEST_CASE("Posts, closes, waits and dispatches of several threads: each function is run or destroyed once") {
    for (const when_full policy : {when_full::reject, when_full::block, when_full::drop_oldest}) {
        for (const std::size_t capacity : {0, 2}) {
            thread_pool pool(3);
            mixed_operations all(pool, {.lane_capacity = capacity, .policy = policy, .shards = 4});
            std::vector<std::thread> threads;
            for (unsigned p = 0; p != 3; ++p) threads.emplace_back([&all, p] { all.do_all(p, p == 0); });
            for (std::thread& t : threads) t.join();
            pool.wait_idle();
            CHECK(all.wrong.load() == 0);
            CHECK(all.all.is_settled());
            CHECK(all.l.active() == 0);
            const auto now = all.l.metrics();
            CHECK(now.run > 0);
            CHECK(now.run == static_cast<std::uint64_t>(all.all.ran.load()));
            CHECK(now.run + now.dropped + now.rejected == static_cast<std::uint64_t>(all.all.made.load()));
        }
    }
}
