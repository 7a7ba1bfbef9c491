// Loops and real timers: where the two protocols meet.
#include <ekiden/loop/loop_context.hpp>
#include <ekiden/loop/loop_pool.hpp>
#include <ekiden/timer/steady_timer.hpp>

#include <tests/unit/effort.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <system_error>
#include <thread>
#include <vector>

using ekiden::loop_context;
using ekiden::steady_timer;
using namespace std::chrono_literals;

TEST_CASE("A pending timer keeps run(), and its end brings run() to an end") {
    for (const int hint : {1, 2}) {
        loop_context loop(hint);
        steady_timer timer(loop.get_executor());
        timer.expires_after(1h);
        bool has_expired = false;
        timer.async_wait([&](std::error_code error) { has_expired = !error; });
        CHECK(loop.poll() == 0);
        CHECK_FALSE(loop.is_stopped());
        const auto due = std::chrono::steady_clock::now() + 2ms;
        CHECK(timer.expires_at(due) == 1);
        timer.async_wait([&](std::error_code error) { has_expired = !error; });
        CHECK(loop.run() == 2);
        CHECK(has_expired);
        CHECK(std::chrono::steady_clock::now() >= due);
        CHECK(loop.is_stopped());
    }
}

TEST_CASE("A timer that is canceled by another thread ends a run() that slept for it") {
    for (const int hint : {1, 2}) {
        for (int round = 0; round != ekiden_test::rounds(50); ++round) {
            loop_context loop(hint);
            steady_timer timer(loop.get_executor());
            timer.expires_after(1h);
            std::error_code seen;
            timer.async_wait([&](std::error_code error) { seen = error; });
            std::thread canceller([&] { CHECK(timer.cancel() == 1); });
            CHECK(loop.run() == 1);
            CHECK(seen == std::errc::operation_canceled);
            canceller.join();
        }
    }
}

TEST_CASE("Timers that tasks set again and again, on several threads") {
    loop_context loop(2);
    std::atomic<int> expired{0};
    std::vector<std::unique_ptr<steady_timer>> timers;
    struct again {
        steady_timer* timer;
        std::atomic<int>* expired;
        int left;
        void operator()(std::error_code) {
            expired->fetch_add(1);
            if (left == 0) return;
            timer->expires_after(50us);
            timer->async_wait(again{timer, expired, left - 1});
        }
    };
    for (int i = 0; i != 10; ++i) {
        timers.push_back(std::make_unique<steady_timer>(loop.get_executor()));
        timers.back()->expires_after(50us);
        timers.back()->async_wait(again{timers.back().get(), &expired, 19});
    }
    std::thread other([&] { (void)loop.run(); });
    (void)loop.run();
    other.join();
    CHECK(expired.load() == 200);
}

TEST_CASE("A context that ends with a timer pending destroys its handler without running it") {
    for (const int hint : {1, 2}) {
        auto token = std::make_shared<int>(0);
        {
            loop_context loop(hint);
            steady_timer timer(loop.get_executor());
            timer.expires_after(0s);
            timer.async_wait([token](std::error_code) { ++*token; });
        }
        CHECK(*token == 0);
        CHECK(token.use_count() == 1);
    }
}

TEST_CASE("join of a pool of loops waits for timers") {
    ekiden::loop_pool pool({.threads = 2});
    steady_timer timer(pool.get_executor(1));
    timer.expires_after(2ms);
    std::atomic<int> ran{0};
    timer.async_wait([&](std::error_code) { pool.get_executor(0).post([&] { ran.fetch_add(1); }); });
    pool.join();
    CHECK(ran.load() == 1);
}
