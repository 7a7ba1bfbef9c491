#include <ekiden/future/promise.hpp>
#include <ekiden/pool/blocking_region.hpp>
#include <ekiden/pool/thread_pool.hpp>

#include <tests/unit/effort.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <latch>
#include <numeric>
#include <thread>
#include <vector>

using ekiden::future;
using ekiden::promise;
using ekiden::thread_pool;
using namespace std::chrono_literals;

TEST_CASE("one worker runs the tasks of each producer in the order posted") {
    const int n = ekiden_test::rounds(5000);
    for (const int producers : {1, 3}) {
        std::vector<int> next(static_cast<std::size_t>(producers), 0); // written by the one worker
        int out_of_order = 0;
        {
            thread_pool pool({.threads = 1});
            const auto produce = [&](int p) {
                for (int i = 0; i != n; ++i)
                    pool.post([&out_of_order, &expected = next[static_cast<std::size_t>(p)], i] {
                        out_of_order += expected++ != i;
                    });
            };
            std::vector<std::jthread> threads;
            for (int p = 1; p != producers; ++p) threads.emplace_back(produce, p);
            produce(0);
            threads.clear();
            pool.wait_idle();
        }
        CHECK(out_of_order == 0);
        for (const int sum : next) CHECK(sum == n);
    }
}

TEST_CASE("a task behind one that blocks is overtaken by a bounded number, though no worker is idle") {
    for (const int workers : {2, 3}) {
        constexpr int behind = 64; // as many as a worker takes at once
        const int bound = (1 << 14) * workers * workers;
        const int after = bound + 10'000;
        std::atomic<int> begun_after{0};
        std::atomic<int> late{0};
        std::latch all_behind(behind);
        thread_pool pool({.threads = static_cast<unsigned>(workers)});
        pool.pause(); // so that all are posted before the first begins
        pool.post([&] { all_behind.wait(); });
        for (int i = 0; i != behind; ++i)
            pool.post([&] {
                late += begun_after.load() > bound;
                all_behind.count_down();
            });
        for (int i = 0; i != after; ++i) pool.post([&] { ++begun_after; });
        pool.resume();
        pool.wait_idle();
        // The system may stop a worker that has taken a task, while another worker goes on.
        CHECK(late.load() <= workers - 2);
        CHECK(begun_after.load() == after);
    }
}

TEST_CASE("a task may wait for any later one of its producer, whichever worker sleeps") {
    const int rounds = ekiden_test::rounds(400);
    thread_pool fixed({.threads = 2});
    thread_pool elastic({.threads = 1, .max_threads = 2, .watch_interval = 0ms});
    for (int round = 0; round != rounds; ++round) {
        for (thread_pool* const pool : {&fixed, &elastic}) {
            const int awaited = 1 + round % 70;
            std::latch later(1);
            pool->post([&] {
                const ekiden::blocking_region region("a later task");
                later.wait();
            });
            for (int i = 1; i <= awaited + round % 3; ++i)
                pool->post([&, i] {
                    if (i == awaited) later.count_down();
                });
            pool->wait_idle();
        }
    }
}

TEST_CASE("a worker that waits for a result takes the tasks behind its own in their order") {
    std::vector<int> order; // written by the one worker
    promise<void> source;
    future<void> awaited = source.get_future();
    thread_pool pool({.threads = 1});
    pool.pause();
    pool.post([&] {
        awaited.get();
        order.push_back(0);
    });
    for (int i = 1; i != 100; ++i)
        pool.post([&, i] {
            order.push_back(i);
            if (i == 70) source.set_value();
        });
    pool.resume();
    pool.wait_idle();
    std::vector<int> expected(100);
    std::iota(expected.begin(), expected.begin() + 70, 1);
    expected[70] = 0;
    std::iota(expected.begin() + 71, expected.end(), 71);
    CHECK(order == expected);
}

TEST_CASE("stop abandons the batch of a busy worker") {
    std::atomic<int> ran{0};
    std::latch has_begun(1);
    std::latch has_stopped(1);
    thread_pool pool({.threads = 1});
    pool.pause();
    pool.post([&] {
        has_begun.count_down();
        has_stopped.wait();
    });
    for (int i = 0; i != 100; ++i) pool.post([&] { ++ran; });
    pool.resume();
    has_begun.wait();
    pool.stop();
    has_stopped.count_down();
    pool.join();
    CHECK(ran == 0);
    CHECK(pool.metrics().tasks_abandoned == 100);
    CHECK(pool.metrics().tasks_pending == 0);
}
