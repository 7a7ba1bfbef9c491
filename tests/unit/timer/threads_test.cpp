// Timers that several threads set and cancel. The threads use different parts of a pool's timers.
#include <ekiden/timer/steady_timer.hpp>

#include "../effort.hpp"
#include "hand_driven.hpp"
#include <doctest/doctest.h>
#include <ekiden/pool/thread_pool.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <latch>
#include <memory>
#include <random>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace {

using namespace ekiden;
using namespace std::chrono_literals;
using clock_type = std::chrono::steady_clock;
using ekiden_test::hand_driven;

using hand_timer = basic_waitable_timer<clock_type, hand_driven::executor_type>;
using pool_timer = basic_waitable_timer<clock_type, thread_pool::executor_type>;

/// A handler that counts its end, whether it runs or is destroyed.
struct counted {
    explicit counted(std::atomic<long>& e) noexcept : ends(&e) {}
    counted(counted&& other) noexcept : ends(std::exchange(other.ends, nullptr)) {}
    ~counted() {
        if (ends != nullptr) ends->fetch_add(1);
    }
    void operator()(std::error_code) const noexcept {}
    std::atomic<long>* ends;
};

/// Sets a timer again and again, and cancels most of its waits.
void set_and_cancel(thread_pool& pool, unsigned seed, int rounds, std::atomic<long>& ends) {
    std::minstd_rand random(seed);
    pool_timer timer(pool);
    for (int i = 0; i != rounds; ++i) {
        timer.expires_after(random() % 4 == 0 ? clock_type::duration(random() % 50'000) : 1h);
        timer.async_wait(counted(ends));
        if (random() % 8 != 0) timer.cancel();
    }
}

} // namespace

TEST_CASE("Threads set and cancel timers while their pool is joined or stopped: each handler ends once") {
    for (int round = 0; round != ekiden_test::rounds(100); ++round) {
        constexpr int threads = 4;
        constexpr int waits = 50;
        std::atomic<long> ends{0};
        {
            thread_pool pool({.threads = 2});
            std::latch begun(threads);
            std::vector<std::thread> users;
            for (int u = 0; u != threads; ++u) {
                users.emplace_back([&, u] {
                    begun.count_down();
                    set_and_cancel(pool, static_cast<unsigned>(4 * round + u + 1), waits, ends);
                });
            }
            begun.wait();
            if (round % 2 == 0) pool.stop();
            pool.join();
            for (auto& each : users) each.join();
        }
        CHECK(ends.load() == threads * waits);
    }
}

TEST_CASE("After a join that gave up, threads set and cancel timers, and the next join waits for them") {
    constexpr int threads = 3;
    std::atomic<long> ends{0};
    thread_pool pool({.threads = 2});
    pool_timer pending(pool, 1h);
    pending.async_wait(counted(ends)); // so the pool accepts tasks from outside
    CHECK_FALSE(pool.join_for(0s));
    const int waits = ekiden_test::rounds(1'000);
    std::vector<std::thread> users;
    for (unsigned u = 0; u != threads; ++u)
        users.emplace_back([&, u] { set_and_cancel(pool, u + 1, waits, ends); });
    for (auto& each : users) each.join();
    std::thread ender([&] { pending.cancel(); });
    pool.join();
    ender.join();
    CHECK(ends.load() == threads * waits + 1);
}

TEST_CASE("One thread after the other sets a timer that the thread before has set") {
    thread_pool pool({.threads = 2});
    pool_timer timer(pool);
    std::atomic<int> canceled{0};
    std::atomic<int> expired{0};
    std::size_t counted_here = 0;
    for (int i = 0; i != 40; ++i) {
        std::thread([&] {
            counted_here += timer.expires_after(1h);
            timer.async_wait([&](std::error_code error) { (error ? canceled : expired).fetch_add(1); });
        }).join();
    }
    CHECK(counted_here == 39);
    std::thread([&] { counted_here += timer.expires_after(1ms); }).join();
    timer.async_wait([&](std::error_code error) { (error ? canceled : expired).fetch_add(1); });
    pool.join();
    CHECK(counted_here == 40);
    CHECK(canceled.load() == 40);
    CHECK(expired.load() == 1);
}

TEST_CASE("The timers of several threads are posted in the order of their expiries") {
    constexpr int threads = 4;
    constexpr int each = 100;
    bool is_in_time = false;
    for (auto delay = 20ms; !is_in_time; delay *= 2) {
        hand_driven context(false); // its own thread fires the timers
        std::vector<std::unique_ptr<hand_timer>> timers(threads * each);
        std::vector<int> fired;
        const auto first = clock_type::now() + delay;
        std::vector<std::thread> setters;
        for (int t = 0; t != threads; ++t) {
            setters.emplace_back([&, t] {
                for (int i = t; i < threads * each; i += threads) {
                    timers[i] = std::make_unique<hand_timer>(context, first + i * 200ns);
                    timers[i]->async_wait([&fired, i](std::error_code) { fired.push_back(i); });
                }
            });
        }
        for (auto& setter : setters) setter.join();
        is_in_time = clock_type::now() < first; // else a late timer was posted when it was set
        while (context.queued() != threads * each) std::this_thread::yield();
        context.run_all();
        CHECK(fired.size() == threads * each);
        if (is_in_time) CHECK(std::is_sorted(fired.begin(), fired.end()));
    }
}

TEST_CASE("A timer wakes the thread that fires timers if another thread has set a later one") {
    for (int round = 0; round != ekiden_test::rounds(200); ++round) {
        hand_driven context(false);
        hand_timer far(context, 1h);
        std::thread([&] { far.async_wait([](std::error_code) {}); }).join();
        std::atomic<bool> has_fired{false};
        hand_timer near(context);
        std::thread other([&] { // at the same time as the others
            hand_timer middle(context, 500us);
            middle.async_wait([](std::error_code) {});
        });
        near.expires_after(100us);
        near.async_wait([&](std::error_code error) { has_fired = !error; });
        other.join();
        while (!has_fired.load()) {
            context.run_all();
            std::this_thread::yield();
        }
        far.cancel();
        context.run_all();
    }
}
