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

namespace {

/// Notes which of a producer's tasks have begun.
class begun {
public:
    explicit begun(int n) : flags_(static_cast<std::size_t>(n)) {}

    /// Task `number` begins: how many before it have not.
    int note(int number) {
        flags_[static_cast<std::size_t>(number)].store(true);
        int missing = 0;
        for (int i = 0; i != number; ++i) missing += !flags_[static_cast<std::size_t>(i)].load();
        return missing;
    }

private:
    std::vector<std::atomic<bool>> flags_;
};

void raise_to(std::atomic<int>& most, int value) {
    for (int seen = most.load(); seen < value && !most.compare_exchange_weak(seen, value);) {
    }
}

} // namespace

TEST_CASE("while one worker is held up in the first task, the other takes the rest in the order posted") {
    for (const int n : {2, 3, 65, 66, 300}) {
        std::vector<int> order; // written by the other worker
        std::latch rest(n - 1);
        thread_pool pool({.threads = 2});
        pool.pause(); // so that all are posted before the first begins
        pool.post([&] { rest.wait(); });
        for (int i = 1; i != n; ++i)
            pool.post([&, i] {
                order.push_back(i);
                rest.count_down();
            });
        pool.resume();
        pool.wait_idle();
        std::vector<int> expected(static_cast<std::size_t>(n - 1));
        std::iota(expected.begin(), expected.end(), 1);
        CHECK(order == expected);
    }
}

TEST_CASE(
    "a task begins only after those that its producer posted before it, but for one in each other worker") {
    const int n = ekiden_test::rounds(1500);
    for (const int workers : {2, 3, 4}) {
        for (const int producers : {1, 3}) {
            thread_pool pool({.threads = static_cast<unsigned>(workers)});
            std::vector<begun> all;
            for (int p = 0; p != producers; ++p) all.emplace_back(n);
            std::atomic<int> most_missing{0};
            const auto produce = [&](int p) {
                for (int i = 0; i != n; ++i)
                    pool.post([&most_missing, &mine = all[static_cast<std::size_t>(p)], i] {
                        raise_to(most_missing, mine.note(i));
                        if (i % 50 == 0) std::this_thread::sleep_for(100us); // the others take its lease over
                    });
            };
            {
                std::vector<std::jthread> threads;
                for (int p = 1; p != producers; ++p) threads.emplace_back(produce, p);
                produce(0);
            }
            pool.wait_idle();
            CHECK(most_missing <= workers - 1);
        }
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

TEST_CASE("stop abandons what a busy worker has leased") {
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
