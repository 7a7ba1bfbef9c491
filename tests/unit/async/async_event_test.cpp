// Events, latches and barriers that coroutines wait for, many at once.
#include "lock_support.hpp"

#include <ekiden/async/async_event.hpp>
#include <ekiden/sync/detail/lock_access.hpp>

#include "../effort.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <thread>
#include <vector>

using namespace ekiden;
using ekiden_test::until;
using lock_support::spawner;

TEST_CASE("an event that is set lets coroutines through at once, and others when it is set") {
    thread_pool pool(2);
    event e;
    std::atomic<int> through{0};
    spawner coroutines(pool.get_executor());
    for (int i = 0; i < 10; ++i) {
        coroutines.spawn([&]() -> coroutine<> {
            co_await async_wait(e);
            ++through;
        });
    }
    CHECK(through == 0);
    e.set();
    coroutines.join();
    CHECK(through == 10);
    coroutines.spawn([&]() -> coroutine<> {
        co_await async_wait(e);
        ++through;
    });
    coroutines.join();
    CHECK(through == 11);
}

TEST_CASE(
    "rule: 1e5 waiters of one event are woken without a deeper stack, canceled during the sweep or not") {
    const int n = ekiden_test::rounds(100'000);
    thread_pool pool(2);
    event e;
    std::deque<stop_state> stops(static_cast<std::size_t>(n));
    std::atomic<int> asked{0};
    std::atomic<int> through{0};
    std::atomic<int> stopped{0};
    {
        spawner coroutines(pool.get_executor());
        for (int i = 0; i < n; ++i) {
            // Every other one is stopped while the event is being set.
            stop_state* const stop = i % 2 == 0 ? &stops[static_cast<std::size_t>(i)] : nullptr;
            coroutines.spawn(pool.get_executor(), stop, [&]() -> coroutine<> {
                ++asked;
                const bool is_set = co_await async_wait(e, wait_limit());
                ++(is_set ? through : stopped);
            });
        }
        until([&] { return asked == n; });
        std::atomic<bool> go{false};
        std::thread stopper([&] {
            until([&] { return go.load(); });
            for (int i = 0; i < n; i += 2) stops[static_cast<std::size_t>(i)].request_stop();
        });
        go = true;
        e.set();
        stopper.join();
    }
    CHECK(through + stopped == n);
    CHECK(through >= n / 2);
}

TEST_CASE("rule: no lock is held while the waiters of an event are posted") {
    // The resume function of a waiter uses the event that has released it.
    event e;
    struct user {
        event& e;
        async_waiter waiter{};
        bool was_set = false;
    };
    std::deque<user> users;
    for (int i = 0; i < 3; ++i) {
        user& one = users.emplace_back(e);
        one.waiter->mask = event::is_one;
        one.waiter->transition = [](void*, state_value now) noexcept { return now; };
        one.waiter->context = &one;
        one.waiter->resume = [](waiter& who) noexcept {
            auto& self = *static_cast<user*>(who.context);
            self.was_set = self.e.is_set();
            self.e.set();
        };
        REQUIRE_FALSE(detail::lock_access::core(e).start(*one.waiter));
    }
    e.set();
    for (const user& one : users) CHECK(one.was_set);
}

TEST_CASE(
    "waiters that give a lock on as they are resumed do so one after the other, not one inside the other") {
    constexpr int n = 100'000;
    struct chain {
        state_lock lock;
        std::uintptr_t lowest = ~std::uintptr_t{0};
        std::uintptr_t highest = 0;
        int resumed = 0;
    } all;
    std::vector<std::unique_ptr<async_waiter>> waiters;
    all.lock.enter(1);
    for (int i = 0; i < n; ++i) {
        async_waiter& one = *waiters.emplace_back(std::make_unique<async_waiter>());
        one->mask = 1;
        one->context = &all;
        one->resume = [](waiter& who) noexcept {
            auto& self = *static_cast<chain*>(who.context);
            const auto place = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
            self.lowest = place < self.lowest ? place : self.lowest;
            self.highest = place > self.highest ? place : self.highest;
            ++self.resumed;
            self.lock.exit(0);
        };
        REQUIRE_FALSE(all.lock.start(*one));
    }
    all.lock.exit(0);
    CHECK(all.resumed == n);
    CHECK(all.highest - all.lowest < 4096);
    CHECK(all.lock.try_enter(1));
    all.lock.exit(0);
}

TEST_CASE("rule: the waits of an event that is set as they are stopped all end, set or stopped") {
    const int rounds = ekiden_test::rounds(2000);
    thread_pool pool(2);
    for (int r = 0; r < rounds; ++r) {
        event e;
        stop_state stop;
        std::atomic<int> through{0};
        std::atomic<int> stopped{0};
        {
            spawner coroutines(pool.get_executor(), &stop);
            for (int i = 0; i < 4; ++i) {
                coroutines.spawn([&]() -> coroutine<> {
                    const bool is_set = co_await async_wait(e, wait_limit());
                    ++(is_set ? through : stopped);
                });
            }
            std::thread stopper([&] { stop.request_stop(); });
            e.set();
            stopper.join();
        }
        REQUIRE(through + stopped == 4);
    }
}

TEST_CASE("threads and coroutines wait for one latch") {
    thread_pool pool(2);
    latch l(3);
    std::atomic<int> through{0};
    {
        spawner coroutines(pool.get_executor());
        for (int i = 0; i < 3; ++i) {
            coroutines.spawn([&]() -> coroutine<> {
                co_await async_wait(l);
                ++through;
            });
        }
        std::thread thread([&] {
            l.wait();
            ++through;
        });
        CHECK(through == 0);
        l.count_down(2);
        CHECK(through == 0);
        l.count_down();
        thread.join();
    }
    CHECK(through == 4);
}

TEST_CASE("threads and coroutines come to one barrier, round after round") {
    constexpr int rounds = 300;
    thread_pool pool(2);
    struct count_rounds {
        int* count;
        void operator()() const noexcept { ++*count; }
    };
    int completed = 0;
    barrier<count_rounds> b(4, count_rounds{&completed});
    std::atomic<bool> wrong{false};
    {
        spawner coroutines(pool.get_executor());
        for (int i = 0; i < 3; ++i) {
            coroutines.spawn([&]() -> coroutine<> {
                for (int r = 1; r <= rounds; ++r) {
                    co_await async_arrive_and_wait(b);
                    if (completed < r) wrong = true;
                    const auto token = b.arrive(); // a round in which nobody looks
                    co_await async_wait(b, token);
                }
            });
        }
        std::thread thread([&] {
            for (int r = 0; r < 2 * rounds; ++r) b.arrive_and_wait();
        });
        thread.join();
    }
    CHECK_FALSE(wrong);
    CHECK(completed == 2 * rounds);
}

TEST_CASE("an arrival counts although its wait is stopped, before or after it") {
    thread_pool pool(1);
    barrier<> b(3);
    stop_state stopped;
    stopped.request_stop();
    stop_state later;
    std::atomic<int> ended{0};
    std::atomic<int> over{0};
    spawner coroutines(pool.get_executor());
    for (stop_state* stop : {&stopped, &later}) {
        coroutines.spawn(pool.get_executor(), stop, [&]() -> coroutine<> {
            const bool is_over = co_await async_arrive_and_wait(b, wait_limit());
            over += is_over ? 1 : 0;
            ++ended;
        });
    }
    until([&] { return ended == 1; });
    later.request_stop();
    coroutines.join();
    CHECK(over == 0);
    CHECK(detail::lock_access::core(b).value().payload == 1);
    b.arrive_and_wait(); // the third
}
