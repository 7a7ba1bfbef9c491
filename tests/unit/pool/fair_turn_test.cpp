// Fair turns: what the order of find_task() could pass over for ever comes to its turn, and nothing else.
#include <ekiden/pool/thread_pool.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <latch>
#include <thread>

using ekiden::thread_pool;

TEST_CASE("What a worker has left that runs a long task is taken by one that always has work of its own") {
    thread_pool pool({.threads = 2});
    std::atomic<bool> is_taken{false};
    std::atomic<bool> enough{false};
    std::latch both(2);
    std::function<void()> endless = [&] {
        if (!enough) pool.post(endless);
    };
    pool.post([&] {
        both.arrive_and_wait(); // the other worker runs the other task
        endless();
    });
    pool.post([&] {
        both.arrive_and_wait();
        pool.post([&] { is_taken = true; });
        while (!is_taken) std::this_thread::yield(); // a long task
        enough = true;
    });
    pool.wait_idle();
    CHECK(is_taken);
}

TEST_CASE("What a worker has left whose tasks are long is taken by one whose tasks are short") {
    for (int round = 0; round != 10; ++round) { // at first it may be the long ones' own fair turn
        thread_pool pool({.threads = 2});
        std::atomic<bool> is_taken{false};
        std::atomic<int> short_ones{0};
        std::atomic<int> long_ones{0};
        std::latch both(2);
        std::function<void()> each_short = [&] {
            ++short_ones;
            if (!is_taken) pool.post(each_short);
        };
        std::function<void()> each_long = [&] {
            const int end = short_ones + 60;
            while (short_ones < end && !is_taken) std::this_thread::yield();
            if (is_taken) return;
            if (++long_ones == 20) pool.post([&] { is_taken = true; }); // when both have long been seen
            pool.post(each_long);
        };
        pool.post([&] {
            both.arrive_and_wait();
            each_short();
        });
        pool.post([&] {
            both.arrive_and_wait();
            each_long();
        });
        pool.wait_idle();
        CHECK(long_ones < 20 + 64);
    }
}

TEST_CASE("A worker that gets on is left alone by one that has work of its own") {
    thread_pool pool({.threads = 2});
    // Two chains of tasks, in step; behind each lie tasks for a thief.
    constexpr int steps = 5000;
    constexpr int behind = 50;
    std::atomic<int> done[2] = {0, 0};
    std::latch both(2);
    std::uint64_t stolen_before = 0;
    std::uint64_t stolen = 0;
    std::function<void(int)> step = [&](int mine) {
        const int now = ++done[mine];
        while (done[1 - mine] < now) std::this_thread::yield();
        if (now == 1 && mine == 0) stolen_before = pool.metrics().stolen;
        if (now == steps - 1 && mine == 0) stolen = pool.metrics().stolen;
        if (now < steps) pool.post([&step, mine] { step(mine); });
    };
    for (const int mine : {0, 1}) {
        pool.post([&, mine] {
            both.arrive_and_wait();
            for (int i = 0; i != behind; ++i) pool.post([] {});
            pool.post([&step, mine] { step(mine); });
        });
    }
    pool.wait_idle();
    CHECK(done[0] == steps);
    CHECK(done[1] == steps);
    CHECK(stolen - stolen_before == 0);
}
