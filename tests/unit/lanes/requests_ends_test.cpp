// Functions with several keys when something fails or ends: exceptions, memory, executors that throw, a pool
// that pauses or stops, lanes that are destroyed, and the child of a fork.
#include "../asleep.hpp"
#include "../child_process.hpp"
#include "../effort.hpp"
#include "../execution/failing_executor.hpp"
#include "../execution/held_worker.hpp"
#include "../execution/user_executor.hpp"
#include "../failing_allocations.hpp"
#include "tally.hpp"
#include <tests/unit/posix.hpp>

#include <ekiden/execution/task_sink.hpp>
#include <ekiden/lanes/lanes.hpp>
#include <ekiden/loop/loop_context.hpp>
#include <ekiden/pool/thread_pool.hpp>
#include <ekiden/sys/config.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <doctest/doctest.h>
#include <exception>
#include <latch>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace {

using namespace ekiden;
using ekiden_test::failing_executor;
using ekiden_test::held_worker;
using ekiden_test::tally;
using request_lanes = lanes<int, thread_pool::executor_type>;

/// A pool that counts the exceptions that reach its handler.
struct counting_pool {
    explicit counting_pool(unsigned threads)
        : pool({.threads = threads, .on_unhandled_exception = [this](std::exception_ptr, std::string_view) {
                    reports.fetch_add(1);
                }}) {}
    std::atomic<int> reports{0};
    thread_pool pool;
};

/// A key whose copy constructor throws when a countdown has reached zero.
struct counted_key {
    int value;
    int* copies_left;

    counted_key(int number, int& left) noexcept : value(number), copies_left(&left) {}
    counted_key(const counted_key& other) : value(other.value), copies_left(other.copies_left) {
        if (*copies_left >= 0 && (*copies_left)-- == 0) throw std::runtime_error("no copy");
    }
    counted_key(counted_key&&) noexcept = default;
    counted_key& operator=(const counted_key&) = default;
    friend bool operator==(const counted_key& a, const counted_key& b) { return a.value == b.value; }
};
struct counted_hash {
    std::size_t operator()(const counted_key& key) const noexcept {
        return static_cast<std::size_t>(key.value);
    }
};

/// Too large for a recycled node, so that operator new allocates a lane of it.
struct big_key {
    int value;
    std::array<char, 512> filler{};
    friend bool operator==(const big_key&, const big_key&) = default;
};
struct big_hash {
    std::size_t operator()(const big_key& key) const noexcept { return static_cast<std::size_t>(key.value); }
};

constexpr int chain_length = ekiden_test::rounds(100'000);

/// Posts a chain of requests, in which each request shares a key with the next one.
template <class Lanes>
void post_chain(const Lanes& l, tally& all) {
    for (int i = 0; i != chain_length; ++i) CHECK(l.post({i, i + 1}, all.function()));
}

} // namespace

// ---- exceptions

TEST_CASE("An exception of a request goes to the inner context, and its keys go on") {
    tally all;
    counting_pool counted(2);
    const request_lanes l(counted.pool.get_executor());
    for (int i = 0; i != 100; ++i) {
        CHECK(l.post({1, 2}, all.function([] { throw std::runtime_error("of a request"); })));
        CHECK(l.post(l.keys().read(1, 2), all.function([] { throw std::runtime_error("of a reader"); })));
        CHECK(l.post(2, all.function()));
    }
    counted.pool.wait_idle();
    CHECK(all.ran.load() == 300);
    CHECK(all.is_settled());
    CHECK(counted.reports.load() == 200);
    CHECK(l.metrics().run == 300);
    CHECK(l.active() == 0);
}

TEST_CASE("A request whose keys or function cannot be copied is posted to no lane") {
    for (const std::size_t capacity : {0, 10}) {
        for (int fails_at = 0; fails_at != 3; ++fails_at) {
            tally all;
            thread_pool pool(1);
            int left = -1;
            const lanes<counted_key, thread_pool::executor_type, counted_hash> l(
                pool.get_executor(), {.lane_capacity = capacity, .shards = 4});
            const std::array<counted_key, 3> keys{
                {counted_key(1, left), counted_key(2, left), counted_key(3, left)}};
            held_worker worker(pool);
            left = fails_at;
            CHECK_THROWS_AS((void)l.post(l.keys().write_all(keys), all.function()), std::runtime_error);
            CHECK(all.gone.load() == 1);
            CHECK(l.active() == 0);

            struct throws_when_copied {
                throws_when_copied() = default;
                throws_when_copied(const throws_when_copied&) { throw std::runtime_error("no copy"); }
                void operator()() const {}
            } const function;
            left = -1;
            CHECK_THROWS_AS((void)l.post(l.keys().write_all(keys), function), std::runtime_error);
            CHECK(l.active() == 0);
            CHECK(l.post(l.keys().write_all(keys), all.function()));
            worker.open();
            pool.wait_idle();
            CHECK(all.ran.load() == 1);
            CHECK(all.is_settled());
            CHECK(l.metrics().posted == 1);
        }
    }
}

#if !defined(EKIDEN_TSAN)
TEST_CASE("A request for which there is no memory is posted to no lane, whichever allocation fails") {
    for (const std::size_t capacity : {0, 3}) {
        int failed = 0;
        for (int fails_at = 0; fails_at != 12; ++fails_at) {
            tally all;
            counting_pool counted(1);
            const lanes<big_key, thread_pool::executor_type, big_hash> l(
                counted.pool.get_executor(), {.lane_capacity = capacity,
                                              .policy = when_full::block,
                                              .shards = 64}); // more than 4 are used
            held_worker worker(counted.pool);
            const std::vector<big_key> keys{{1}, {2}, {3}, {4}, {5}, {6}};
            bool is_in = false;
            bool has_failed = false;
            {
                auto function = all.function();
                const ekiden_test::failing_allocation one(fails_at);
                try {
                    is_in = l.post(l.keys().write_all(keys), std::move(function));
                } catch (const std::bad_alloc&) {
                    has_failed = true;
                }
            }
            CHECK(is_in != has_failed);
            failed += has_failed;
            if (has_failed) CHECK(l.active() == 0);
            CHECK(l.post(l.keys().write_all(keys), all.function()));
            worker.open();
            counted.pool.wait_idle();
            // Without a capacity, the post moves its claims to their lanes after it has accepted the
            // function.
            const auto dropped = static_cast<int>(l.metrics().dropped);
            CHECK(dropped <= (is_in && capacity == 0 ? 1 : 0));
            CHECK(all.ran.load() == (is_in ? 2 : 1) - dropped);
            CHECK(all.is_settled());
            CHECK(l.active() == 0);
        }
        CHECK(failed > (capacity == 0 ? 1 : 6)); // with a capacity, a post also allocates lanes
    }
}

TEST_CASE("A request for which there is no memory for a lane is dropped once, counted once, reported once") {
    for (const int fails_at : {0, 1, 2}) {
        tally all;
        counting_pool counted(1);
        const lanes<big_key, thread_pool::executor_type, big_hash> l(counted.pool.get_executor(),
                                                                     {.shards = 1});
        held_worker worker(counted.pool);
        CHECK(l.post({{1}, {2}, {3}}, all.function()));
        {
            const ekiden_test::failing_allocation next(fails_at);
            (void)l.active(); // adds the lanes
        }
        CHECK(counted.reports.load() == 1);
        CHECK(all.gone.load() == 1);
        CHECK(l.active() == 0); // the other claims have given their lanes back
        CHECK(l.post({{1}, {2}, {3}}, all.function()));
        worker.open();
        counted.pool.wait_idle();
        CHECK(all.ran.load() == 1);
        CHECK(counted.reports.load() == 1);
        CHECK(l.metrics().dropped == 1);
        CHECK(l.metrics().run == 1);
        CHECK(all.is_settled());
        CHECK(l.active() == 0);
    }
}
#endif

// ---- executors

TEST_CASE("If the inner executor throws, the post of a request throws, and the request is in no lane") {
    for (const std::size_t capacity : {0, 10}) {
        for (const unsigned shards : {1U, 4U}) {
            tally all;
            counting_pool counted(1);
            std::atomic<bool> is_failing{true};
            const lanes<int, failing_executor> l(failing_executor(counted.pool.get_executor(), is_failing),
                                                 {.lane_capacity = capacity, .shards = shards});
            for (int i = 0; i != 3; ++i) {
                CHECK_THROWS_AS((void)l.post({1, 2, 3}, all.function()), std::runtime_error);
                CHECK_THROWS_AS((void)l.post(l.keys().read(1, 2), all.function()), std::runtime_error);
            }
            CHECK(all.is_settled());
            CHECK(l.active() == 0);
            CHECK(counted.reports.load() == 0);
            CHECK(l.metrics().posted == 0);
            CHECK(l.metrics().dropped == 0);
            is_failing = false;
            CHECK(l.post({1, 2, 3}, all.function()));
            counted.pool.wait_idle();
            CHECK(all.ran.load() == 1);
            CHECK(l.active() == 0);
        }
    }
}

TEST_CASE("If the inner executor throws while requests run, each is run, or dropped and reported once") {
    for (const std::size_t capacity : {0, 10}) {
        for (const unsigned shards : {1U, 4U}) {
            tally all;
            counting_pool counted(2);
            std::atomic<bool> is_failing{false};
            const lanes<int, failing_executor> l(
                failing_executor(counted.pool.get_executor(), is_failing),
                {.lane_capacity = capacity, .policy = when_full::block, .shards = shards});
            int posted = 0;
            int refused = 0;
            for (int i = 0; i != ekiden_test::rounds(3000); ++i) {
                is_failing = i % 7 == 0;
                try {
                    posted += l.post({i % 5, i % 3, i % 11}, all.function());
                } catch (const std::runtime_error&) {
                    ++refused;
                }
            }
            is_failing = false;
            counted.pool.wait_idle();
            const auto now = l.metrics();
            CHECK(all.is_settled());
            CHECK(posted + refused == all.made.load());
            CHECK(now.run == static_cast<std::uint64_t>(all.ran.load()));
            CHECK(now.posted == static_cast<std::uint64_t>(posted));
            CHECK(now.posted == now.run + now.dropped);
            CHECK(static_cast<std::uint64_t>(counted.reports.load()) == now.dropped);
            CHECK(now.active == 0);
        }
    }
}

TEST_CASE("A context of the Networking TS runs requests, or drops them") {
    tally all;
    users_context context;
    {
        const lanes<int, users_context::executor_type> l(context.get_executor(), {.shards = 4});
        for (int i = 0; i != 100; ++i) CHECK(l.post({i % 7, i % 3}, all.function()));
        CHECK(all.ran.load() == 0);
        while (context.run() != 0) {
        }
        CHECK(all.ran.load() == 100);
        CHECK(l.active() == 0);
        for (int i = 0; i != 100; ++i) CHECK(l.post({i % 7, i % 3}, all.function()));
        context.drop_all();
        CHECK(l.active() == 0);
    }
    CHECK(all.ran.load() == 100);
    CHECK(all.is_settled());
}

// ---- pause and stop

TEST_CASE("While a pool is paused, no request begins") {
    tally all;
    thread_pool pool(2);
    const request_lanes l(pool.get_executor());
    pool.pause();
    CHECK(l.post({1, 2}, all.function()));
    CHECK(l.post(l.keys().read(1), all.function()));
    CHECK(l.depth(1) == 1);
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    CHECK(all.ran.load() == 0);
    pool.resume();
    pool.wait_idle();
    CHECK(all.ran.load() == 2);
    // A request that pauses the pool is the last one to begin.
    CHECK(l.post({1, 2}, all.function([&pool] { pool.pause(); })));
    CHECK(l.post({2, 1}, all.function()));
    while (all.ran.load() != 3) std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    CHECK(all.ran.load() == 3);
    pool.resume();
    pool.wait_idle();
    CHECK(all.ran.load() == 4);
    CHECK(all.is_settled());
}

TEST_CASE("A stopped pool drops a long chain of requests, each once") {
    for (const std::size_t capacity : {0, 10}) {
        for (const bool runs_first : {false, true}) {
            tally all;
            std::latch has_begun(1);
            std::latch release(1);
            {
                thread_pool pool(2);
                const request_lanes l(pool.get_executor(), {.lane_capacity = capacity, .shards = 4});
                CHECK(l.post(0, [&] {
                    has_begun.count_down();
                    release.wait();
                }));
                has_begun.wait();
                post_chain(l, all);
                if (!runs_first) pool.stop();
                release.count_down();
                if (runs_first) {
                    while (all.ran.load() < chain_length / 10) std::this_thread::yield();
                    pool.stop();
                }
                CHECK_FALSE(l.post({1, 2}, all.function()));
            }
            if (!runs_first) CHECK(all.ran.load() == 0);
            CHECK(all.is_settled());
        }
    }
}

TEST_CASE("A long chain of requests runs in order") {
    tally all;
    thread_pool pool(2);
    const request_lanes l(pool.get_executor(), {.shards = 4});
    std::latch release(1);
    CHECK(l.post(0, [&] { release.wait(); }));
    std::vector<int> order;
    for (int i = 0; i != chain_length; ++i)
        CHECK(l.post({i, i + 1}, all.function([&order, i] { order.push_back(i); })));
    release.count_down();
    pool.wait_idle();
    REQUIRE(order.size() == static_cast<std::size_t>(chain_length));
    for (int i = 0; i != chain_length; ++i)
        if (order[static_cast<std::size_t>(i)] != i) FAIL("not in order");
    CHECK(all.is_settled());
    CHECK(l.active() == 0);
}

TEST_CASE("A long chain of requests ends with a context that never runs, or when its first key is closed") {
    tally all;
    {
        loop_context loop(1);
        const lanes<int, loop_context::executor_type> l(loop.get_executor());
        post_chain(l, all);
        for (int i = 0; i < chain_length; i += 2) (void)l.close(i);
    }
    CHECK(all.ran.load() == 0);
    CHECK(all.is_settled());
}

namespace {

/// A function whose destructor closes lane 2 of other lanes, and waits until their lane 1 is idle.
struct closes_at_end {
    const request_lanes* lanes;
    std::atomic<bool>* was_idle;

    closes_at_end(const request_lanes& l, std::atomic<bool>& idle) : lanes(&l), was_idle(&idle) {}
    closes_at_end(closes_at_end&& other) noexcept
        : lanes(std::exchange(other.lanes, nullptr)), was_idle(other.was_idle) {}
    ~closes_at_end() {
        if (lanes == nullptr) return;
        CHECK(lanes->close(2) == 1);
        *was_idle = lanes->wait_idle_for(1, std::chrono::seconds(5));
    }
    void operator()() const {}
};

} // namespace

TEST_CASE("The destructor of a dropped function can wait for the end of a request that it drops") {
    thread_pool running(1);
    thread_pool stopped(1);
    const request_lanes live(running.get_executor(), {.shards = 1});
    const request_lanes gone(stopped.get_executor(), {.shards = 1});
    held_worker worker(stopped);
    tally all;
    std::latch is_held(1);
    std::latch release(1);
    CHECK(live.post(2, [&] {
        is_held.count_down();
        release.wait();
    }));
    is_held.wait();
    CHECK(live.post({1, 2}, all.function())); // has lane 1, and waits for lane 2
    std::atomic<bool> was_idle{false};
    CHECK(gone.post({1, 2}, all.function()));
    CHECK(gone.post(1, closes_at_end(live, was_idle))); // dropped when the request in front of it ends
    stopped.stop();
    worker.open();
    stopped.join();
    CHECK(was_idle);
    release.count_down();
    running.wait_idle();
    CHECK(all.ran.load() == 0);
    CHECK(all.is_settled());
}

TEST_CASE("A request that waits for room returns when the pool stops") {
    for (const bool in_all : {false, true}) {
        tally all;
        {
            thread_pool pool(1);
            const request_lanes l(pool.get_executor(), {.lane_capacity = in_all ? 0U : 1U,
                                                        .capacity = in_all ? 2U : 0U,
                                                        .policy = when_full::block,
                                                        .shards = 4});
            held_worker worker(pool);
            for (int i = 0; i != 2; ++i) CHECK(l.post({1, 2}, all.function()));
            std::thread poster = ekiden_test::start_asleep([&] { (void)l.post({2, 1, 3}, all.function()); });
            pool.stop();
            worker.open();
            poster.join();
        }
        CHECK(all.ran.load() == 0);
        CHECK(all.is_settled());
    }
}

TEST_CASE("Posts of requests against the stop of a pool: each is run or dropped once") {
    for (int round = 0; round != ekiden_test::rounds(300); ++round) {
        tally all;
        std::atomic<int> returned_false{0};
        {
            thread_pool pool(2);
            const request_lanes l(pool.get_executor(), {.shards = 4});
            std::vector<std::thread> posters;
            for (int p = 0; p != 2; ++p) {
                posters.emplace_back([&, p] {
                    for (int i = 0; i != 200; ++i)
                        if (!l.post({(i * 7 + p) % 10, (i * 3) % 10}, all.function()))
                            returned_false.fetch_add(1);
                });
            }
            while (all.ran.load() == 0) std::this_thread::yield();
            pool.stop();
            for (std::thread& t : posters) t.join();
        }
        CHECK(all.is_settled());
        CHECK(all.ran.load() + returned_false.load() <= 400);
    }
}

// ---- their own end

TEST_CASE("Lanes may end inside of a request of theirs, and what was posted still runs") {
    for (int round = 0; round != ekiden_test::rounds(500); ++round) {
        tally all;
        {
            thread_pool pool({.threads = 2});
            auto l =
                std::make_unique<request_lanes>(pool.get_executor(), request_lanes::options{.shards = 4});
            for (int key = 0; key != 5; ++key) (void)l->post({key, key + 1}, all.function());
            auto* const here = l.get();
            (void)here->post({0, 5, 9},
                             [&all, l = std::move(l)]() mutable { // may be gone before post() returns
                                 (void)l->post({5, 6}, all.function());
                                 (void)l->post(l->keys().read(0, 1), all.function());
                                 l.reset();
                             });
        }
        CHECK(all.ran.load() == 7);
        CHECK(all.is_settled());
    }
}

TEST_CASE("In the child of a fork, posts of requests throw, and the child ends") {
    EKIDEN_SKIP_ON_WINDOWS("there is no fork()");
    thread_pool pool(1);
    const request_lanes l(pool.get_executor());
    held_worker worker(pool);
    CHECK(l.post({1, 2}, [] {}));
    CHECK(l.post(l.keys().read(1), [] {}));
    const auto child = ekiden_test::run_in_child([&] {
        const auto refuses = [](auto f) {
            try {
                f();
            } catch (const std::system_error& e) {
                return e.code() == std::errc::operation_not_permitted;
            }
            return false;
        };
        tally all;
        bool is_good = refuses([&] { (void)l.post({1, 2}, all.function()); });
        is_good &= refuses([&] { (void)l.post({3, 4}, all.function()); });
        is_good &= refuses([&] { (void)l.defer(l.keys().read(1), all.function()); });
        is_good &= refuses([&] { l.dispatch({1, 2}, all.function()); });
        is_good &= all.is_settled() && all.made.load() == 4 && !l.running_in_this_thread(1);
        std::_Exit(is_good ? 7 : 1);
    });
    CHECK(child.exit_code == 7);
    worker.open();
    pool.wait_idle();
    CHECK(l.metrics().run == 2);
}
