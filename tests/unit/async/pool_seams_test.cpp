// Coroutines and what a pool does meanwhile: pauses, grows and shrinks, waits in a worker.
#include "../effort.hpp"
#include "lock_support.hpp"

#include <ekiden/async/async_event.hpp>
#include <ekiden/async/async_lock.hpp>
#include <ekiden/async/await_future.hpp>
#include <ekiden/async/co_spawn.hpp>
#include <ekiden/async/sleep.hpp>
#include <ekiden/async/sync_wait.hpp>
#include <ekiden/async/yield.hpp>
#include <ekiden/execution/strand.hpp>
#include <ekiden/lanes/lanes.hpp>
#include <ekiden/pool/blocking_region.hpp>
#include <ekiden/pool/thread_pool.hpp>
#include <ekiden/sync/event.hpp>
#include <ekiden/sync/mutex.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

using namespace ekiden;
using namespace std::chrono_literals;
using ekiden_test::until;
using lock_support::spawner;

namespace {

coroutine<int> one_later() {
    co_await yield();
    co_return 1;
}

/// What sync_wait throws here, as "" if nothing.
std::string refusal_of_sync_wait() {
    try {
        (void)sync_wait([] { return one_later(); });
    } catch (const std::system_error& error) {
        return error.code() == std::errc::resource_deadlock_would_occur ? error.what() : "another error";
    }
    return "";
}

constexpr const char* refusal = "sync_wait: called in a function of a strand or a lane";

} // namespace

TEST_CASE("rule: sync_wait in a lane is refused with a message, in a function and in a coroutine") {
    thread_pool pool(2);
    const lanes<int, thread_pool::executor_type> l(pool.get_executor());
    const auto lane = l.get_executor(3);
    CHECK(lane.submit(&refusal_of_sync_wait).get().find(refusal) != std::string::npos);
    // Inside of a dispatch, in a coroutine, and in a strand on the lane.
    auto dispatched = lane.submit([lane] {
        std::string message;
        lane.dispatch([&message] { message = refusal_of_sync_wait(); });
        return message;
    });
    CHECK(dispatched.get().find(refusal) != std::string::npos);
    const auto body = []() -> coroutine<std::string> {
        co_await yield();
        co_return refusal_of_sync_wait();
    };
    CHECK(co_spawn(lane, body, use_future).get().find(refusal) != std::string::npos);
    const strand on_lane(lane);
    CHECK(on_lane.submit(&refusal_of_sync_wait).get().find(refusal) != std::string::npos);
    // Also for what runs elsewhere: that gets on, but the lane does not.
    thread_pool other(1);
    auto elsewhere = lane.submit([&other] {
        try {
            return sync_wait(other.get_executor(), [] { return one_later(); });
        } catch (const std::system_error&) {
            return -1;
        }
    });
    CHECK(elsewhere.get() == -1);
    // The lane goes on, and outside of it one may wait for what runs in it.
    CHECK(sync_wait(lane, [] { return one_later(); }) == 1);
}

TEST_CASE("rule: coroutines that come home to a paused pool run when it goes on, and none is lost") {
    for (int round = 0; round != ekiden_test::rounds(100); ++round) {
        thread_pool pool(2);
        constexpr int n = 50;
        event e;
        mutex m;
        promise<void> news;
        std::atomic<int> asked{0};
        std::atomic<int> home{0};
        std::atomic<int> slept{0};
        bool has_begun_early = false;
        {
            spawner coroutines(pool.get_executor());
            for (int i = 0; i != n; ++i) {
                coroutines.spawn([&]() -> coroutine<> {
                    ++asked;
                    co_await async_wait(e);
                    ++home;
                    const auto guard = co_await async_lock(m);
                    co_await yield();
                });
                coroutines.spawn([&, i]() -> coroutine<> {
                    ++asked;
                    co_await sleep_for(10us * i); // some before the pause, some in it, some later
                    ++slept;
                });
            }
            coroutines.spawn([&]() -> coroutine<> {
                ++asked;
                co_await news.get_future();
                ++home;
            });
            until([&] { return asked == 2 * n + 1; });
            pool.wait_idle(); // all are in their waits
            pool.pause();
            e.set();
            std::thread([&] { news.set_value(); }).join();
            for (int look = 0; look != 100; ++look) { // time to do wrong
                std::this_thread::yield();
                has_begun_early = has_begun_early || home != 0;
            }
            pool.resume();
        }
        CHECK_FALSE(has_begun_early);
        REQUIRE(home == n + 1);
        REQUIRE(slept == n);
    }
}

TEST_CASE("rule: a paused pool that stops drops the coroutines that have come home to it, each once") {
    for (int round = 0; round != ekiden_test::rounds(100); ++round) {
        event e;
        std::atomic<int> asked{0};
        std::atomic<int> through{0};
        std::atomic<int> ended{0};
        constexpr int n = 50;
        {
            thread_pool pool(2);
            for (int i = 0; i != n; ++i) {
                auto body = [&]() -> coroutine<> {
                    ++asked;
                    co_await async_wait(e);
                    ++through;
                };
                lock_support::root(body, ended).promise().begin(pool.get_executor());
            }
            until([&] { return asked == n; });
            pool.wait_idle();
            pool.pause();
            e.set();
            pool.stop();
        }
        REQUIRE(ended == n);
        REQUIRE(through == 0);
    }
}

TEST_CASE("rule: an elastic pool grows and shrinks under sync_wait in its workers, and loses nothing") {
    thread_pool pool({.threads = 1, .max_threads = 6, .keep_alive = 0ms, .watch_interval = 0ms});
    for (int round = 0; round != ekiden_test::rounds(200); ++round) {
        constexpr int n = 12;
        std::atomic<int> blocked{0};
        std::atomic<int> sum{0};
        event go;
        std::vector<future<void>> all;
        for (int i = 0; i != n; ++i) {
            all.push_back(pool.submit([&, i] {
                const auto body = [&, i]() -> coroutine<int> {
                    co_await yield();
                    if (i % 3 == 0) { // holds its thread: the pool takes on another one
                        const blocking_region region("a test");
                        ++blocked;
                        while (blocked < n / 3) std::this_thread::yield();
                    }
                    co_await async_wait(go);
                    co_return 1;
                };
                sum += sync_wait(pool.get_executor(), body);
            }));
        }
        // From outside, when those that block have got their threads; the surplus ones end meanwhile.
        until([&] { return blocked == n / 3; });
        go.set();
        for (auto& each : all) each.get();
        REQUIRE(sum == n);
    }
    until([&] { return pool.metrics().threads == 1; });
    CHECK(pool.metrics().peak_threads > 1);
    CHECK(sync_wait(pool.get_executor(), [] { return one_later(); }) == 1);
}
