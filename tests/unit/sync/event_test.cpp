#include "stress.hpp"

#include <ekiden/sync/counting_semaphore.hpp>
#include <ekiden/sync/detail/lock_access.hpp>
#include <ekiden/sync/event.hpp>
#include <ekiden/sync/latch.hpp>

#include <tests/unit/asleep.hpp>

#include <doctest/doctest.h>

#include <memory>

using namespace std::chrono_literals;
using ekiden::wait_limit;

TEST_CASE("an event ends all waits until it is reset") {
    ekiden::event e;
    CHECK_FALSE(e.wait(wait_limit::after(1ms)));
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) threads.push_back(ekiden_test::start_asleep([&] { e.wait(); }));
    e.set();
    e.set();
    for (auto& t : threads) t.join();
    CHECK(e.is_set());
    e.wait();
    e.reset();
    CHECK_FALSE(e.is_set());
    CHECK(ekiden::event(true).is_set());
}

TEST_CASE("what is set stays set for a thread while another thread is inside the lock") {
    const auto holds = [](ekiden::state_lock& lock, auto query) {
        lock.enter(ekiden::event::is_one);
        query();
        lock.exit(1);
    };
    const ekiden::event e(true);
    holds(ekiden::detail::lock_access::core(e), [&] {
        CHECK(e.is_set());
        CHECK(e.wait(wait_limit::after(0s)));
    });
    const ekiden::latch l(0);
    holds(ekiden::detail::lock_access::core(l), [&] {
        CHECK(l.try_wait());
        CHECK(l.wait(wait_limit::after(0s)));
    });
}

TEST_CASE("an event may be destroyed by the thread that saw it set") {
    for (int i = 0; i < 3000; ++i) {
        auto e = std::make_unique<ekiden::event>();
        std::thread setter([&, raw = e.get()] { raw->set(); });
        e->wait();
        e.reset();
        setter.join();
    }
}

TEST_CASE("a latch opens after the last count") {
    ekiden::latch l(3);
    l.count_down();
    CHECK_FALSE(l.try_wait());
    CHECK_FALSE(l.wait(wait_limit::after(1ms)));
    std::thread last([&] { l.count_down(2); });
    l.wait();
    CHECK(l.try_wait());
    last.join();
    ekiden::latch open(0);
    open.arrive_and_wait(0);
    CHECK_THROWS_WITH(ekiden::latch(-2), "latch: expected is -2, allowed is 0 or more");
}

TEST_CASE("what was done before each count is seen after the wait") {
    for (int round = 0; round < 300; ++round) {
        constexpr int threads = 4;
        int written[threads] = {};
        ekiden::latch l(threads);
        stress::together(threads, [&](int i, stress::noise& noise) {
            noise();
            written[i] = 1;
            l.arrive_and_wait();
            for (const int w : written) CHECK(w == 1);
        });
    }
}

TEST_CASE("a semaphore never admits more than it has permits, and loses none") {
    constexpr int permits = 2;
    ekiden::counting_semaphore s(permits);
    std::atomic<int> inside{0};
    std::atomic<bool> wrong{false};
    stress::together(6, [&](int i, stress::noise& noise) {
        for (int r = 0; r < 3000; ++r) {
            bool got = true;
            if (i < 2)
                s.acquire();
            else if (i < 4)
                got = s.try_acquire_for(std::chrono::microseconds(noise.below(50)));
            else
                got = s.try_acquire();
            if (!got) continue;
            if (inside.fetch_add(1) >= permits) wrong = true;
            noise();
            inside.fetch_sub(1);
            s.release();
        }
    });
    CHECK_FALSE(wrong);
    CHECK(s.try_acquire());
    CHECK(s.try_acquire());
    CHECK_FALSE(s.try_acquire());
    s.release(s.max());
    CHECK(s.try_acquire_until(std::chrono::steady_clock::now()));
    CHECK_THROWS_WITH(ekiden::counting_semaphore<5>(-1),
                      "counting_semaphore: permits is -1, allowed is 0 to 5");
    CHECK_THROWS_AS(ekiden::binary_semaphore(2), std::invalid_argument);
}

TEST_CASE("permits released together go to as many waiters") {
    ekiden::counting_semaphore s(0);
    std::vector<std::thread> threads;
    for (int i = 0; i < 5; ++i) threads.push_back(ekiden_test::start_asleep([&] { s.acquire(); }));
    s.release(3);
    s.release(2);
    for (auto& t : threads) t.join();
    CHECK_FALSE(s.try_acquire());
    std::stop_source stop;
    stop.request_stop();
    CHECK_FALSE(s.acquire(wait_limit(stop.get_token())));
}

TEST_CASE("more permits than the lock's word counts are kept exactly") {
    constexpr std::ptrdiff_t many = std::ptrdiff_t{ekiden::state_lock::max_payload} + 2;
    ekiden::counting_semaphore<many> s(many);
    for (std::ptrdiff_t i = 0; i < many; ++i) REQUIRE(s.try_acquire());
    CHECK_FALSE(s.try_acquire());
    for (std::ptrdiff_t i = 0; i < many - 1; ++i) s.release();
    s.release(0);
    s.release();
    for (std::ptrdiff_t i = 0; i < many; ++i) s.acquire();
    CHECK_FALSE(s.try_acquire());
    s.release(many);
    s.acquire();
    CHECK(s.try_acquire());
}

TEST_CASE(
    "permits are kept exactly while threads move their number across what the word counts, and across 0") {
    constexpr std::ptrdiff_t payload = ekiden::state_lock::max_payload;
    for (const std::ptrdiff_t start :
         {std::ptrdiff_t{0}, std::ptrdiff_t{1}, payload - 1, payload, payload + 1}) {
        ekiden::counting_semaphore s(start);
        stress::together(4, [&](int thread, stress::noise& noise) {
            for (int i = 0; i < 2000; ++i) {
                const std::ptrdiff_t count = 1 + noise.below(2);
                s.release(count);
                noise();
                for (std::ptrdiff_t k = 0; k < count; ++k) {
                    if (thread % 2 == 0)
                        s.acquire();
                    else
                        while (!s.try_acquire()) std::this_thread::yield();
                }
            }
        });
        std::ptrdiff_t left = 0;
        while (s.try_acquire()) ++left;
        CHECK(left == start);
    }
}
