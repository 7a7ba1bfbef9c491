#include <ekiden/pool/thread_pool.hpp>

#include <ekiden/future/operation_canceled.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <latch>
#include <memory>
#include <system_error>
#include <thread>
#include <vector>

using namespace std::chrono_literals;
using ekiden::priority;
using ekiden::thread_pool;

namespace {

bool is_canceled(ekiden::future<int>& f) {
    try {
        (void)f.get();
        return false;
    } catch (const ekiden::operation_canceled&) {
        return true;
    }
}

/// Counts how often its copies' last owner calls or drops it.
struct tracked {
    std::shared_ptr<std::atomic<int>> destroyed;
    struct counter {
        std::shared_ptr<std::atomic<int>> n;
        ~counter() { ++*n; }
    };
    std::shared_ptr<counter> life{std::make_shared<counter>(destroyed)};
};

} // namespace

TEST_CASE("the destructor runs what is queued, and what that posts") {
    std::atomic<int> ran{0};
    {
        thread_pool pool({.threads = 2});
        for (int i = 0; i != 1000; ++i) {
            pool.post([&] {
                ++ran;
                pool.post([&] {
                    ++ran;
                    pool.post(priority::low, [&] { ++ran; });
                });
            });
        }
    }
    CHECK(ran == 3000);
}

TEST_CASE("after join, a task is refused and destroyed by the caller") {
    thread_pool pool({.threads = 2});
    pool.join();
    pool.join();
    auto destroyed = std::make_shared<std::atomic<int>>(0);
    CHECK_FALSE(pool.post([t = tracked{destroyed}] {}));
    CHECK(*destroyed == 1);
    CHECK_FALSE(pool.post_bulk(10, [t = tracked{destroyed}](std::size_t) {}));
    CHECK(*destroyed == 2);
    auto f = pool.submit([] { return 1; });
    REQUIRE(f.is_ready());
    CHECK(is_canceled(f));
    pool.wait_idle();
}

TEST_CASE("stop abandons what is queued and lets what runs end") {
    thread_pool pool({.threads = 1});
    std::latch started(1);
    std::latch go(1);
    std::atomic<int> ran{0};
    auto running = pool.submit([&] {
        started.count_down();
        go.wait();
        CHECK_FALSE(pool.post([] {}));
        CHECK_FALSE(pool.post(priority::high, [] {}));
        return 5;
    });
    started.wait();
    auto destroyed = std::make_shared<std::atomic<int>>(0);
    std::vector<ekiden::future<int>> queued;
    for (int i = 0; i != 100; ++i) queued.push_back(pool.submit([&] { return ++ran; }));
    for (int i = 0; i != 100; ++i) pool.post(priority::low, [t = tracked{destroyed}, &ran] { ++ran; });
    pool.stop();
    CHECK_FALSE(pool.post([] {}));
    go.count_down();
    CHECK(running.get() == 5);
    for (auto& f : queued) CHECK(is_canceled(f));
    pool.wait_idle();
    CHECK(ran == 0);
    CHECK(*destroyed == 100);
    CHECK(pool.metrics().tasks_abandoned == 200);
    pool.join();
}

TEST_CASE("stop from a task lets the pool end") {
    for (int i = 0; i != 50; ++i) {
        thread_pool pool({.threads = 2});
        std::atomic<int> ran{0};
        for (int k = 0; k != 50; ++k) {
            pool.post([&] {
                if (++ran == 10) pool.stop();
            });
        }
        pool.join();
        CHECK(ran >= 10);
    }
}

TEST_CASE("a worker that waits for a queued task when the pool stops gets operation_canceled") {
    for (int i = 0; i != 50; ++i) {
        thread_pool pool({.threads = 1});
        std::latch started(1);
        auto outer = pool.submit([&] {
            started.count_down();
            pool.pause();
            auto inner = pool.submit([] { return 1; });
            return is_canceled(inner) ? 1 : 2;
        });
        started.wait();
        while (i % 2 == 0 && pool.metrics().tasks_pending != 2)
            std::this_thread::yield(); // the inner one is queued
        pool.stop();
        const int result = outer.get();
        CHECK((result == 1 || result == 2));
        if (i % 2 == 0) CHECK(result == 1);
    }
}

TEST_CASE("a submission that races with stop is run or reported, and counted exactly") {
    for (int round = 0; round != 100; ++round) {
        thread_pool pool({.threads = 2});
        std::atomic<int> ran{0};
        std::atomic<long> accepted{0};
        std::atomic<long> refused{0};
        std::atomic<bool> stopped{false};
        auto destroyed = std::make_shared<std::atomic<int>>(0);
        std::vector<std::jthread> producers;
        for (int p = 0; p != 3; ++p) {
            producers.emplace_back([&, p] {
                while (!stopped) {
                    const auto level = p == 0 ? priority::high : priority::normal;
                    ++(pool.post(level, [t = tracked{destroyed}, &ran] { ++ran; }) ? accepted : refused);
                }
            });
        }
        std::this_thread::sleep_for(std::chrono::microseconds(50 + 10 * round));
        pool.stop();
        stopped = true;
        producers.clear();
        pool.join();
        const auto end = pool.metrics();
        REQUIRE(end.tasks_run + end.tasks_abandoned == static_cast<std::uint64_t>(accepted.load()));
        REQUIRE(static_cast<int>(end.tasks_run) == ran);
        REQUIRE(*destroyed == accepted + refused);
        REQUIRE(end.tasks_pending == 0);
    }
}

TEST_CASE("the metrics are exact at each moment while a pool abandons its tasks") {
    constexpr std::uint64_t some = 100;
    constexpr std::uint64_t many = 50'000;
    bool is_exact = true;
    for (int round = 0; round != 20 && is_exact; ++round) {
        thread_pool pool({.threads = 1});
        for (std::uint64_t i = 0; i != some; ++i) pool.post([] {});
        pool.wait_idle();
        pool.pause();
        for (std::uint64_t i = 0; i != many; ++i) pool.post([] {});
        pool.stop();
        std::uint64_t abandoned = 0;
        while (abandoned != many && is_exact) {
            const auto now = pool.metrics();
            is_exact = now.tasks_run == some && now.tasks_abandoned >= abandoned
                       && now.tasks_pending + now.tasks_abandoned == many;
            abandoned = now.tasks_abandoned;
        }
    }
    CHECK(is_exact);
}

TEST_CASE("a submission that races with join is run if it was accepted") {
    for (int round = 0; round != 100; ++round) {
        thread_pool pool({.threads = 2});
        std::atomic<long> ran{0};
        std::atomic<long> accepted{0};
        std::atomic<bool> joined{false};
        std::vector<std::jthread> producers;
        for (int p = 0; p != 2; ++p) {
            producers.emplace_back([&] {
                while (!joined) {
                    if (pool.post([&] { ++ran; })) ++accepted;
                }
            });
        }
        std::this_thread::sleep_for(std::chrono::microseconds(50 + 10 * round));
        pool.join();
        joined = true;
        producers.clear();
        REQUIRE(ran == accepted);
    }
}

TEST_CASE("stop() ends a blocking wait of the only worker for a queued task") {
    thread_pool pool({.threads = 1});
    std::atomic<bool> has_begun{false};
    auto outer = pool.submit([&] {
        auto inner = pool.submit([] { return 1; });
        has_begun = true;
        return inner.get(ekiden::blocking);
    });
    while (!has_begun) std::this_thread::yield();
    std::this_thread::sleep_for(10ms); // the worker sleeps
    pool.stop();
    pool.join();
    CHECK(is_canceled(outer));
}

TEST_CASE("join and wait_idle in a worker of the same pool are refused, not a deadlock") {
    thread_pool pool({.threads = 2});
    const auto code = [&](auto&& call) {
        return pool
            .submit([&] {
                try {
                    call();
                    return std::error_code();
                } catch (const std::system_error& e) {
                    return e.code();
                }
            })
            .get();
    };
    CHECK(code([&] { pool.join(); }) == std::errc::resource_deadlock_would_occur);
    CHECK(code([&] { pool.wait_idle(); }) == std::errc::resource_deadlock_would_occur);
    thread_pool other({.threads = 1});
    CHECK(code([&] { other.wait_idle(); }) == std::error_code());
    CHECK(code([&] { other.join(); }) == std::error_code());
}

TEST_CASE("no task posted after pause begins before resume") {
    thread_pool pool({.threads = 2});
    for (int round = 0; round != 50; ++round) {
        std::atomic<int> ran{0};
        for (int i = 0; i != 100; ++i) pool.post([] {}); // the workers are busy or awake
        pool.pause();
        for (int i = 0; i != 100; ++i) pool.post([&] { ++ran; });
        if (round % 10 == 0) std::this_thread::sleep_for(1ms);
        REQUIRE(ran == 0);
        pool.resume();
        pool.wait_idle();
        REQUIRE(ran == 100);
    }
}

TEST_CASE("join resumes a paused pool, and stop abandons its tasks") {
    std::atomic<int> ran{0};
    {
        thread_pool pool({.threads = 2});
        pool.pause();
        for (int i = 0; i != 100; ++i) pool.post([&] { ++ran; });
        pool.join();
    }
    CHECK(ran == 100);
    thread_pool pool({.threads = 2});
    pool.pause();
    for (int i = 0; i != 100; ++i) pool.post([&] { ++ran; });
    pool.stop();
    pool.join();
    CHECK(ran == 100);
    CHECK(pool.metrics().tasks_abandoned == 100);
}

TEST_CASE("two threads may join at once") {
    for (int i = 0; i != 50; ++i) {
        thread_pool pool({.threads = 2});
        std::atomic<int> ran{0};
        for (int k = 0; k != 100; ++k) pool.post([&] { ++ran; });
        std::jthread other([&] {
            pool.join();
            CHECK(ran == 100);
        });
        pool.join();
        CHECK(ran == 100);
    }
}

TEST_CASE("producer threads come and go") {
    thread_pool pool({.threads = 2});
    std::atomic<int> ran{0};
    for (int i = 0; i != 500; ++i) {
        std::jthread a([&] { pool.post([&] { ++ran; }); });
        std::jthread b([&] { pool.submit([&] { ++ran; }).get(); });
    }
    pool.wait_idle();
    CHECK(ran == 1000);
}

TEST_CASE("more producers than exclusive rings") {
    thread_pool pool({.threads = 2});
    std::atomic<int> ran{0};
    std::latch all(100);
    std::vector<std::jthread> producers;
    for (int p = 0; p != 100; ++p) {
        producers.emplace_back([&] {
            all.arrive_and_wait();
            for (int i = 0; i != 100; ++i) pool.post([&] { ++ran; });
        });
    }
    producers.clear();
    pool.wait_idle();
    CHECK(ran == 10'000);
}
