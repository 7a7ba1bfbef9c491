// What a worker has queued without waking another one is done although it sleeps, blocks or ends.
#include "../asleep.hpp"

#include <ekiden/async/co_spawn.hpp>
#include <ekiden/async/coroutine.hpp>
#include <ekiden/async/yield.hpp>
#include <ekiden/execution/detached.hpp>
#include <ekiden/fork/fork_join.hpp>
#include <ekiden/lanes/lanes.hpp>
#include <ekiden/loop/loop_context.hpp>
#include <ekiden/pool/blocking_region.hpp>
#include <ekiden/pool/thread_pool.hpp>
#include <ekiden/sys/thread_probe.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <doctest/doctest.h>
#include <latch>
#include <string>
#include <thread>

namespace {

using namespace ekiden;
using namespace std::chrono_literals;

/// Waits until the flag is set. False: it was not for so long that it never will be.
bool comes_true(const std::atomic<bool>& flag) {
    const auto limit = std::chrono::steady_clock::now() + 5s;
    while (!flag.load()) {
        if (std::chrono::steady_clock::now() > limit) return false;
        std::this_thread::yield();
    }
    return true;
}

/// Waits until so many workers sleep without tasks.
void wait_until_asleep(const thread_pool& pool, std::ptrdiff_t count) {
    for (;;) {
        const std::string now = pool.activity();
        if (std::count(now.begin(), now.end(), '.') == count) return;
        std::this_thread::yield();
    }
}

thread_pool_options elastic() {
    return {.threads = 1, .max_threads = 2, .keep_alive = 0ms, .watch_interval = 0ms};
}

} // namespace

TEST_CASE("A task that a surplus worker has deferred runs although that worker retires") {
    thread_pool pool(elastic());
    std::atomic<bool> ran{false};
    pool.post([&] {
        {
            const blocking_region region; // brings the second worker
            wait_until_asleep(pool, 1);
        }
        pool.get_executor().defer([&] { ran = true; });
    });
    CHECK(comes_true(ran));
    pool.post([] {}); // wakes the worker if it was not
    pool.wait_idle();
}

TEST_CASE("A coroutine that yields in a surplus worker goes on although that worker retires") {
    thread_pool pool(elastic());
    std::atomic<bool> ran{false};
    const auto yields = [&]() -> coroutine<> {
        {
            const blocking_region region;
            wait_until_asleep(pool, 1);
        }
        co_await yield();
        ran = true;
    };
    co_spawn(pool, yields, detached);
    CHECK(comes_true(ran));
    pool.post([] {});
    pool.wait_idle();
}

TEST_CASE("The functions of lanes run although a surplus worker that requeues them retires") {
    bool is_in_time = true;
    for (int round = 0; round != 20 && is_in_time; ++round) {
        thread_pool pool(elastic());
        lanes<int, thread_pool::executor_type> keyed(pool.get_executor());
        std::atomic<int> ran{0};
        std::atomic<bool> all{false};
        constexpr int functions = 200;
        pool.post([&] {
            {
                const blocking_region region;
                wait_until_asleep(pool, 1);
            }
            for (int i = 0; i != functions; ++i) {
                (void)keyed.defer(i % 4, [&] {
                    const blocking_region region;
                    if (++ran == functions) all = true;
                });
            }
        });
        is_in_time = comes_true(all);
        pool.post([] {});
        pool.wait_idle();
        CHECK(ran == functions);
    }
    CHECK(is_in_time);
}

TEST_CASE("While a worker sleeps in a join, an idle one runs what it has deferred") {
    bool is_in_time = true;
    for (int round = 0; round != 20 && is_in_time; ++round) { // the fork's own wake-up may come late
        thread_pool pool({.threads = 3});
        std::atomic<bool> has_begun{false};
        std::atomic<bool> ran{false};
        pool.submit([&] {
                parallel_invoke(
                    [&] {
                        while (!has_begun) std::this_thread::yield();
                        wait_until_asleep(pool, 1);
                        pool.get_executor().defer([&] { ran = true; });
                    },
                    [&] {
                        has_begun = true;
                        is_in_time = comes_true(ran);
                    });
            })
            .get();
        pool.wait_idle();
    }
    CHECK(is_in_time);
}

TEST_CASE("A task that is deferred inside of a blocking region does not wait for the region's end") {
    thread_pool pool({.threads = 1, .max_threads = 2, .watch_interval = 0ms});
    std::atomic<bool> ran{false};
    const bool is_in_time = pool.submit([&] {
                                    const blocking_region region;
                                    wait_until_asleep(pool, 1);
                                    pool.get_executor().defer([&] { ran = true; });
                                    return comes_true(ran);
                                })
                                .get();
    CHECK(is_in_time);
    pool.wait_idle();
}

TEST_CASE("A task that a thread of a loop defers inside of a blocking region is run by another thread") {
    loop_context loop;
    std::atomic<unsigned> inside{0};
    std::atomic<bool> ran{false};
    bool is_in_time = false;
    sys::thread_probe other;
    loop.get_executor().on_work_started();
    loop.get_executor().post([&] {
        while (inside != 1) std::this_thread::yield();
        while (!other.is_asleep()) std::this_thread::yield();
        const blocking_region region;
        loop.get_executor().defer([&] { ran = true; });
        is_in_time = comes_true(ran);
        loop.get_executor().on_work_finished();
    });
    loop.get_executor().post([&] {
        other = sys::thread_probe::of_this_thread();
        inside = 1;
    });
    std::thread second([&] { (void)loop.run(); });
    (void)loop.run();
    second.join();
    CHECK(is_in_time);
}

TEST_CASE("A worker that begins another task lets an idle one run what it has deferred") {
    thread_pool pool({.threads = 2});
    std::atomic<bool> ran{false};
    std::atomic<bool> is_in_time{false};
    pool.submit([&] {
            wait_until_asleep(pool, 1);
            pool.get_executor().defer([&] { is_in_time = comes_true(ran); });
            pool.get_executor().defer([&] { ran = true; });
        })
        .get();
    pool.wait_idle();
    CHECK(is_in_time);
}

TEST_CASE("A worker of one pool that joins another one counts as blocked") {
    thread_pool pool({.threads = 1, .max_threads = 2, .watch_interval = 0ms});
    thread_pool other({.threads = 1});
    std::atomic<bool> ran{false};
    const auto elsewhere = other.get_executor();
    elsewhere.on_work_started();
    pool.post([&] { other.join(); });
    pool.post([&] { ran = true; });
    CHECK(comes_true(ran));
    elsewhere.on_work_finished();
    pool.wait_idle();
}

TEST_CASE("A pool that is being joined refuses a pause") {
    thread_pool pool({.threads = 1});
    std::latch go(1);
    std::atomic<bool> has_joined{false};
    int ran = 0;
    pool.post([&] {
        go.wait();
        pool.pause();
        pool.post([&] { ++ran; });
    });
    std::thread joining = ekiden_test::start_asleep([&] {
        pool.join();
        has_joined = true;
    });
    go.count_down();
    CHECK(comes_true(has_joined));
    pool.resume(); // for the join that waits for it
    joining.join();
    CHECK(ran == 1);
}
