// Functions with several keys: their order, their keys, and which of them run at the same time.
#include "../effort.hpp"
#include "../execution/held_worker.hpp"
#include "../failing_allocations.hpp"
#include "dice.hpp"
#include "tally.hpp"

#include <ekiden/lanes/lanes.hpp>
#include <ekiden/pool/thread_pool.hpp>
#include <ekiden/sys/config.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <doctest/doctest.h>
#include <functional>
#include <latch>
#include <numeric>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

using namespace ekiden;
using namespace std::chrono_literals;
using ekiden_test::dice;
using ekiden_test::held_worker;
using ekiden_test::tally;
using request_lanes = lanes<int, thread_pool::executor_type>;

/// The keys of a random function. A key may occur twice, and may be both written and read.
struct some_keys {
    std::vector<int> written;
    std::vector<int> read;

    some_keys(dice& random, unsigned keys) {
        const unsigned count = 1 + random.below(random.below(8) == 0 ? 7 : 3);
        for (unsigned i = 0; i != count; ++i)
            (random.below(2) == 0 ? written : read).push_back(static_cast<int>(random.below(keys)));
    }
    [[nodiscard]] bool has_one_form() const { return written.size() == 1 && read.empty(); }
};

/// Posts `f` with these keys. Uses the form with one key if that is possible.
template <class F>
bool post_with(const request_lanes& l, const some_keys& keys, F f) {
    if (keys.has_one_form()) return l.post(keys.written[0], std::move(f));
    return l.post(l.keys().write_all(keys.written).read_all(keys.read), std::move(f));
}

constexpr unsigned cells = 12;

/// A table of numbers. A function changes the numbers of the keys that it writes. The new numbers depend on
/// all numbers of the function, so they depend on the order of the functions.
struct table_of_numbers {
    std::array<std::uint64_t, cells> all{};

    void apply(const some_keys& keys, std::uint64_t number) {
        std::uint64_t sum = number;
        for (const int k : keys.read) sum = (sum ^ at(k)) * 0x9e3779b97f4a7c15U;
        for (const int k : keys.written) at(k) = (at(k) ^ sum) * 0xbf58476d1ce4e5b9U + number;
    }
    std::uint64_t& at(int key) { return all[static_cast<std::size_t>(key)]; }
};

/// Counts the functions that use a key at the same time.
struct usage {
    std::atomic<int> writers{0};
    std::atomic<int> readers{0};
};
struct usages {
    std::array<usage, cells> all;
    std::atomic<int> wrong{0};

    void use(const some_keys& keys) {
        const auto each = [this](const std::vector<int>& of, auto&& f) {
            for (const int k : of) f(all[static_cast<std::size_t>(k)]);
        };
        each(keys.written, [](usage& u) { u.writers.fetch_add(1); });
        each(keys.read, [](usage& u) { u.readers.fetch_add(1); });
        std::this_thread::yield();
        // A key may occur several times among the keys of this function.
        each(keys.written, [&](usage& u) {
            const auto own = [&u, this](const std::vector<int>& of) {
                return static_cast<int>(std::count_if(
                    of.begin(), of.end(), [&](int k) { return &all[static_cast<std::size_t>(k)] == &u; }));
            };
            if (u.writers.load() != own(keys.written) || u.readers.load() != own(keys.read))
                wrong.fetch_add(1);
        });
        each(keys.written, [](usage& u) { u.writers.fetch_sub(1); });
        each(keys.read, [](usage& u) { u.readers.fetch_sub(1); });
    }
};

/// Returns a key of another shard than `first`, if the lanes have 16 shards.
int in_other_shard(int first) { return first + 1; }

} // namespace

// ---- order

TEST_CASE(
    "The result of requests is the sequential one, with 1, 2, 8 and 64 threads, with and without capacity") {
    const int count = ekiden_test::rounds(4000);
    std::vector<some_keys> requests;
    dice random{7};
    for (int i = 0; i != count; ++i) requests.emplace_back(random, cells);
    table_of_numbers expected;
    for (int i = 0; i != count; ++i)
        expected.apply(requests[static_cast<std::size_t>(i)], static_cast<std::uint64_t>(i));

    for (const unsigned threads : {1U, 2U, 8U, 64U}) {
        for (const std::size_t capacity : {0, 3}) {
            table_of_numbers found;
            thread_pool pool(threads);
            const request_lanes l(pool.get_executor(),
                                  {.lane_capacity = capacity, .policy = when_full::block, .shards = 4});
            for (int i = 0; i != count; ++i) {
                const some_keys& keys = requests[static_cast<std::size_t>(i)];
                CHECK(post_with(l, keys, [&, i] { found.apply(keys, static_cast<std::uint64_t>(i)); }));
            }
            pool.wait_idle();
            CHECK(found.all == expected.all);
            CHECK(l.active() == 0);
        }
    }
}

TEST_CASE("A written key has one function at a time, whatever several threads post") {
    for (const std::size_t capacity : {0, 2}) {
        usages used;
        tally all;
        thread_pool pool(3);
        const request_lanes l(pool.get_executor(),
                              {.lane_capacity = capacity, .policy = when_full::block, .shards = 2});
        std::vector<std::thread> posters;
        for (unsigned p = 0; p != 3; ++p) {
            posters.emplace_back([&, p] {
                dice random{p};
                for (int i = ekiden_test::rounds(10'000); i != 0; --i) {
                    const some_keys keys(random, cells);
                    if (!post_with(l, keys, all.function([&used, keys] { used.use(keys); })))
                        used.wrong.fetch_add(1);
                }
            });
        }
        for (std::thread& t : posters) t.join();
        pool.wait_idle();
        CHECK(used.wrong.load() == 0);
        CHECK(all.ran.load() == all.made.load());
        CHECK(all.is_settled());
        CHECK(l.active() == 0);
    }
}

TEST_CASE("Requests of crossing keys never deadlock, and each thread's requests of a key run in order") {
    constexpr int posters = 4;
    constexpr int keys = 5;
    const int count = ekiden_test::rounds(20'000);
    std::array<std::array<int, posters>, keys> last{}; // plain: the lanes order the accesses
    std::atomic<int> wrong{0};
    std::atomic<int> ran{0};
    thread_pool pool(2);
    const request_lanes l(pool.get_executor(), {.shards = 4});
    std::vector<std::thread> threads;
    for (int p = 0; p != posters; ++p) {
        threads.emplace_back([&, p] {
            dice random{static_cast<std::uint64_t>(p)};
            for (int i = 1; i <= count; ++i) {
                const auto a = static_cast<int>(random.below(keys));
                const auto b = static_cast<int>(random.below(keys));
                if (!l.post({a, b}, [&, p, i, a, b] {
                        for (const int k : {a, b}) {
                            int& here = last[static_cast<std::size_t>(k)][static_cast<std::size_t>(p)];
                            if (here > i || (here == i && a != b)) wrong.fetch_add(1);
                            here = i;
                        }
                        ran.fetch_add(1);
                    }))
                    wrong.fetch_add(1);
            }
        });
    }
    for (std::thread& t : threads) t.join();
    pool.wait_idle();
    CHECK(wrong.load() == 0);
    CHECK(ran.load() == posters * count);
}

TEST_CASE("Posts of several threads have one order for all keys") {
    // Thread A posts to x, then to y. Thread B posts pairs. If a pair runs after A's post to y, it must also
    // run after A's earlier post to x. The first pair of new lanes is the hard case.
    std::atomic<int> wrong{0};
    thread_pool pool(2);
    for (int round = 0; round != ekiden_test::rounds(3000); ++round) {
        const int x = round;
        const int y = in_other_shard(x);
        std::array<int, 2> posts{}; // the number of A's functions that have run, for each key
        const request_lanes l(pool.get_executor(), {.shards = 16});
        std::atomic<int> ready{0};
        const auto meet = [&ready] {
            ready.fetch_add(1);
            while (ready.load() != 2) std::this_thread::yield();
        };
        std::thread other([&] {
            meet();
            for (int i = 0; i != 10; ++i)
                (void)l.post({y, x}, [&] {
                    if (posts[1] > posts[0]) wrong.fetch_add(1);
                });
        });
        meet();
        for (int i = 0; i != 10; ++i) {
            (void)l.post(x, [&] { ++posts[0]; });
            (void)l.post(y, [&] { ++posts[1]; });
        }
        other.join();
        l.wait_idle(x);
        l.wait_idle(y);
    }
    CHECK(wrong.load() == 0);
}

TEST_CASE("A request starts when it is first on all of its keys, and others run in parallel") {
    thread_pool pool(2);
    const request_lanes l(pool.get_executor());
    std::latch release(1);
    std::atomic<int> ran{0};
    std::string order; // of key 1
    CHECK(l.post(1, [&] { release.wait(); }));
    CHECK(l.post({1, 2}, [&] { order += 'a'; }));
    CHECK(l.post({2, 3}, [&] { order += 'b'; })); // behind the first request
    CHECK(l.post({4, 5}, [&] { ran.fetch_add(1); }));
    CHECK(l.post(6, [&] { ran.fetch_add(1); }));
    l.wait_idle(4);
    l.wait_idle(6);
    CHECK(ran.load() == 2);
    CHECK(l.active() == 3);
    release.count_down();
    l.wait_idle(3);
    CHECK(order == "ab");
}

// ---- readers

TEST_CASE("Readers next to each other start together") {
    for (const std::size_t capacity : {0, 10}) {
        thread_pool pool(2);
        const request_lanes l(pool.get_executor(), {.lane_capacity = capacity, .shards = 4});
        for (int round = 0; round != 100; ++round) {
            std::latch both(2);
            std::atomic<int> met{0};
            const auto meet = [&] {
                both.arrive_and_wait();
                met.fetch_add(1);
            };
            if (round % 2 == 0) CHECK(l.post(1, [] {})); // a writer in front of them
            CHECK(l.post(l.keys().read(1, 2), meet));
            CHECK(l.post(l.keys().read(1).write(3), meet));
            l.wait_idle(1);
            CHECK(met.load() == 2);
        }
    }
}

TEST_CASE("A later reader never overtakes a writer, and a writer waits for all earlier readers") {
    for (const std::size_t capacity : {0, 10}) {
        thread_pool pool(3);
        const request_lanes l(pool.get_executor(), {.lane_capacity = capacity});
        std::latch has_begun(1);
        std::latch release(1);
        std::atomic<int> ran{0};
        std::string order;
        CHECK(l.post(l.keys().read(1), [&] {
            has_begun.count_down();
            release.wait();
        }));
        has_begun.wait();
        CHECK(l.post({1, 2}, [&] {
            order += 'w';
            ran.fetch_add(1);
        }));
        CHECK(l.post(l.keys().read(1), [&] {
            order += 'r';
            ran.fetch_add(1);
        }));
        CHECK(l.depth(1) == 2);
        std::this_thread::sleep_for(2ms);
        CHECK(ran.load() == 0);
        release.count_down();
        l.wait_idle(1);
        CHECK(order == "wr");
    }
}

TEST_CASE("A reader does not overtake a writer that waits for another key") {
    thread_pool pool(3);
    const request_lanes l(pool.get_executor());
    std::latch release(1);
    std::atomic<int> ran{0};
    CHECK(l.post(2, [&] { release.wait(); }));
    CHECK(l.post({1, 2}, [&] { ran.fetch_add(1); }));
    CHECK(l.post(l.keys().read(1), [&] { ran.fetch_add(1); }));
    CHECK(l.post(1, [&] { ran.fetch_add(1); }));
    CHECK(l.depth(1) == 2); // the writer has the lane already
    std::this_thread::sleep_for(2ms);
    CHECK(ran.load() == 0);
    release.count_down();
    pool.wait_idle();
    CHECK(ran.load() == 3);
}

// ---- keys

TEST_CASE("A key that occurs twice counts once, and a key that is read and written is written") {
    thread_pool pool(2);
    const request_lanes l(pool.get_executor());
    std::array<int, 3> calls{};
    const auto is_written = [&](int key) {
        bool at_once = false;
        l.dispatch(key, [&at_once] { at_once = true; });
        return at_once;
    };
    CHECK(l.post({1, 1, 1}, [&] { calls[0] += is_written(1) ? 1 : 100; }));
    CHECK(l.post(l.keys().read(1).write(1), [&] { calls[1] += is_written(1) ? 1 : 100; }));
    CHECK(l.post(l.keys().write(1, 2).read(2, 1),
                 [&] { calls[2] += is_written(1) && is_written(2) ? 1 : 100; }));
    pool.wait_idle();
    CHECK(calls == std::array<int, 3>{1, 1, 1});
    const auto now = l.metrics();
    CHECK(now.posted == 3);
    CHECK(now.run == 3);
    CHECK(now.active == 0);
}

TEST_CASE("A request without a key goes to the executor at once") {
    thread_pool pool(1);
    const request_lanes l(pool.get_executor());
    held_worker worker(pool);
    std::string order;
    std::thread::id ran_in;
    CHECK(l.post(l.keys(), [&] { order += 'a'; }));
    CHECK(l.defer(l.keys().write_all({}), [&] { order += 'b'; }));
    l.dispatch(l.keys(), [&] {
        order += 'c';
        ran_in = std::this_thread::get_id();
    });
    CHECK(order.empty());
    CHECK(l.active() == 0);
    worker.open();
    pool.wait_idle();
    CHECK(order == "abc");
    CHECK(ran_in != std::this_thread::get_id());
    CHECK(l.metrics().posted == 0);
}

TEST_CASE("A list with one key is the same as the key") {
    thread_pool pool(1);
    const request_lanes l(pool.get_executor());
    held_worker worker(pool);
    std::string order;
    bool is_in_lane = false;
    CHECK(l.post(1, [&] { order += 'a'; }));
    CHECK(l.post({1}, [&] {
        order += 'b';
        is_in_lane = l.running_in_this_thread(1);
    }));
    CHECK(l.post(l.keys().write(1), [&] { order += 'c'; }));
    CHECK(l.post(l.keys().read(1), [&] { order += 'd'; }));
    CHECK(l.defer({1, 1}, [&] { order += 'e'; }));
    CHECK(l.depth(1) == 5);
    worker.open();
    pool.wait_idle();
    CHECK(order == "abcde");
    CHECK(is_in_lane);
}

TEST_CASE("A request may have 64 keys, or 200, or 1,024") {
    for (const int count : {64, 200, 1024}) {
        for (const std::size_t capacity : {0, 5}) {
            std::vector<int> keys(static_cast<std::size_t>(count));
            std::iota(keys.begin(), keys.end(), 0);
            std::vector<int> seen(keys.size());
            tally all;
            thread_pool pool(2);
            const request_lanes l(pool.get_executor(),
                                  {.lane_capacity = capacity, .policy = when_full::block, .shards = 8});
            for (int round = 0; round != 5; ++round) {
                CHECK(l.post(l.keys().write_all(keys), all.function([&] {
                    for (int& n : seen) ++n;
                })));
                for (const int key : keys)
                    CHECK(l.post(key, all.function([&n = seen[static_cast<std::size_t>(key)]] { ++n; })));
                CHECK(l.post(l.keys().read_all(keys), all.function([&seen, round] {
                    for (const int n : seen) CHECK(n == 2 * (round + 1));
                })));
            }
            pool.wait_idle();
            CHECK(all.ran.load() == 5 * (count + 2));
            CHECK(all.is_settled());
            CHECK(l.active() == 0);
        }
    }
}

TEST_CASE("A list of keys of other lanes is refused, and nothing is lost") {
    tally all;
    thread_pool pool(1);
    const request_lanes l(pool.get_executor());
    const request_lanes others(pool.get_executor());
    auto function = all.function();
    const auto refused = "post: keys is a list or handle of other lanes, allowed is one of these lanes";
    CHECK_THROWS_WITH_AS((void)l.post(others.keys().write(1, 2), std::move(function)), refused,
                         std::invalid_argument);
    CHECK_THROWS_AS((void)l.defer(others.keys().read(1), std::move(function)), std::invalid_argument);
    CHECK_THROWS_AS(l.dispatch(others.keys(), std::move(function)), std::invalid_argument);
    CHECK(all.gone.load() == 0); // not moved
    CHECK(l.post({1, 2}, std::move(function)));
    pool.wait_idle();
    CHECK(all.is_settled());
    CHECK(l.active() + others.active() == 0);
}

TEST_CASE("More than 1,024 keys are refused, and nothing is lost") {
    std::vector<int> keys(1025);
    std::iota(keys.begin(), keys.end(), 0);
    tally all;
    thread_pool pool(1);
    const request_lanes l(pool.get_executor());
    auto function = all.function();
    CHECK_THROWS_WITH_AS((void)l.post(l.keys().write_all(keys), std::move(function)),
                         "post: number of keys is 1025, allowed is 0 to 1024", std::invalid_argument);
    CHECK(all.gone.load() == 0); // not moved
    CHECK(l.active() == 0);
    keys.back() = 0; // occurs twice
    CHECK(l.post(l.keys().write_all(keys), std::move(function)));
    pool.wait_idle();
    CHECK(all.ran.load() == 1);
    CHECK(all.is_settled());
}

TEST_CASE("Keys may be strings, also in a list in braces") {
    thread_pool pool(2);
    const lanes<std::string, thread_pool::executor_type> l(pool.get_executor());
    std::string order;
    const std::string name = "from";
    CHECK(l.post({"from", "to"}, [&] { order += 'a'; }));
    CHECK(l.post({name, "to"}, [&] { order += 'b'; }));
    CHECK(l.post(l.keys().write("to").read(name), [&] { order += 'c'; }));
    l.wait_idle("to");
    CHECK(order == "abc");
}

TEST_CASE("A request without a function is refused like a function with one key") {
    thread_pool pool(1);
    const request_lanes l(pool.get_executor());
    const std::function<void()> none;
    CHECK_THROWS_AS((void)l.post(1, none), std::invalid_argument);
    CHECK_THROWS_AS((void)l.post({1, 2}, none), std::invalid_argument);
    CHECK_THROWS_AS(l.dispatch({1, 2}, none), std::invalid_argument);
    CHECK(l.active() == 0);
}

// ---- memory

TEST_CASE("The function and the keys of a request may be aligned to more than a cache line") {
    struct alignas(256) wide {
        int value = 0;
        bool operator==(const wide& other) const noexcept { return value == other.value; }
        [[nodiscard]] bool is_aligned() const noexcept {
            return reinterpret_cast<std::uintptr_t>(this) % alignof(wide) == 0;
        }
    };
    struct hash_of_wide {
        std::size_t operator()(const wide& k) const noexcept { return static_cast<std::size_t>(k.value); }
    };
    thread_pool pool(1);
    const lanes<wide, thread_pool::executor_type, hash_of_wide> l(pool.get_executor());
    bool is_aligned = false;
    CHECK(l.post({wide{1}, wide{2}}, [w = wide(), &is_aligned] { is_aligned = w.is_aligned(); }));
    pool.wait_idle();
    CHECK(is_aligned);
    is_aligned = false;
    CHECK(l.post(wide{1}, [w = wide(), &is_aligned] { is_aligned = w.is_aligned(); }));
    pool.wait_idle();
    CHECK(is_aligned);
}

#if !defined(EKIDEN_TSAN)
TEST_CASE("A request with up to four keys is one block of memory") {
    struct large {
        std::array<char, 2000> room{};
        void operator()() const {}
    };
    thread_pool pool(1);
    const request_lanes l(pool.get_executor(), {.shards = 2});
    const auto post_all = [&](auto f) {
        CHECK(l.post({1, 2}, f));
        CHECK(l.post({1, 2, 3, 4}, f));
        CHECK(l.post(l.keys().read(1), f));
        CHECK(l.post(l.keys().write(1, 2).read(3, 4), f));
        pool.wait_idle();
    };
    for (int i = 0; i != 20; ++i) {
        post_all([] {});
        post_all(large());
    }
    const long before = ekiden_test::allocation_count();
    post_all([] {}); // its memory is recycled
    CHECK(ekiden_test::allocation_count() == before);
    post_all(large());
    CHECK(ekiden_test::allocation_count() == before + 4);
}
#endif
