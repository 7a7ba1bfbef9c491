#include <ekiden/future/promise.hpp>
#include <ekiden/pool/thread_pool.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <thread>
#include <vector>

using namespace std::chrono_literals;
using ekiden::thread_pool;

TEST_CASE("a worker that waits for its own task runs it: one worker does not deadlock") {
    thread_pool pool({.threads = 1});
    auto outer = pool.submit([&] { return pool.submit([] { return 20; }).get() + 1; });
    CHECK(outer.get() == 21);
}

TEST_CASE("nested waits work on one and on several workers") {
    for (const unsigned threads : {1U, 2U, 4U}) {
        thread_pool pool({.threads = threads});
        std::function<long(int)> fib = [&](int n) -> long {
            if (n < 2) return n;
            auto other = pool.submit([&fib, n] { return fib(n - 1); });
            const long mine = fib(n - 2);
            return other.get() + mine;
        };
        CHECK(pool.submit([&] { return fib(15); }).get() == 610);
    }
}

TEST_CASE("waits nest deeper than the helping depth") {
    thread_pool pool({.threads = 1});
    std::function<int(int)> down = [&](int n) -> int {
        return n == 0 ? 0 : 1 + pool.submit([&down, n] { return down(n - 1); }).get();
    };
    CHECK(pool.submit([&] { return down(500); }).get() == 500);
}

TEST_CASE("a worker that waits for something from outside runs tasks meanwhile") {
    thread_pool pool({.threads = 1});
    ekiden::promise<int> promise;
    std::atomic<bool> waiting{false};
    auto waiter = pool.submit([&, f = promise.get_future()]() mutable {
        waiting = true;
        return f.get();
    });
    while (!waiting) std::this_thread::yield();
    std::this_thread::sleep_for(5ms); // asleep by now, as often as not
    CHECK(pool.submit([] { return 1; }).get() == 1);
    std::this_thread::sleep_for(5ms);
    promise.set_value(6);
    CHECK(waiter.get() == 6);
}

TEST_CASE("the task that a waiting worker needs may come later from outside") {
    thread_pool pool({.threads = 1});
    for (int i = 0; i != 100; ++i) {
        ekiden::promise<int> promise;
        auto waiter = pool.submit([f = promise.get_future()]() mutable { return f.get(); });
        if (i % 2 == 0) std::this_thread::sleep_for(100us);
        pool.post([&] { promise.set_value(i); });
        CHECK(waiter.get() == i);
        pool.wait_idle(); // the promise is still in use until its task has ended
    }
}

TEST_CASE("a timed wait in a worker ends on time") {
    thread_pool pool({.threads = 1});
    ekiden::promise<void> never;
    auto f = never.get_future();
    auto timed = pool.submit([&] { return f.wait_for(20ms); });
    CHECK_FALSE(timed.get());
    auto passed = pool.submit([&] { return f.wait_until(std::chrono::steady_clock::now() - 1s); });
    CHECK_FALSE(passed.get());
}

TEST_CASE("promises completed by other threads wake waiting workers every time") {
    thread_pool pool({.threads = 2});
    for (int i = 0; i != 2000; ++i) {
        ekiden::promise<int> promise;
        auto waiter = pool.submit([f = promise.get_future()]() mutable { return f.get(); });
        std::jthread setter([&] {
            if (i % 3 == 0) std::this_thread::yield();
            promise.set_value(i);
        });
        REQUIRE(waiter.get() == i);
    }
}

TEST_CASE("timed waits race with completion without losing either") {
    thread_pool pool({.threads = 2});
    for (int i = 0; i != 500; ++i) {
        ekiden::promise<int> promise;
        auto waiter = pool.submit([f = promise.get_future()]() mutable {
            while (!f.wait_for(50us)) {
            }
            return f.get();
        });
        std::this_thread::sleep_for(std::chrono::microseconds(i % 150));
        promise.set_value(i);
        REQUIRE(waiter.get() == i);
    }
}

TEST_CASE("workers of two pools may wait for each other's tasks") {
    thread_pool a({.threads = 1});
    thread_pool b({.threads = 1});
    for (int i = 0; i != 200; ++i) {
        auto result = a.submit(
            [&] { return b.submit([&] { return a.submit([] { return 1; }).get() + 1; }).get() + 1; });
        REQUIRE(result.get() == 3);
    }
}
