#include "stress.hpp"

#include <ekiden/sync/barrier.hpp>
#include <ekiden/sync/elastic_barrier.hpp>

#include <doctest/doctest.h>

#include <functional>
#include <thread>

using namespace std::chrono_literals;
using ekiden::barrier;
using ekiden::elastic_barrier;

TEST_CASE("nobody passes a barrier before all have come, round after round") {
    for (const auto how : {ekiden::barrier_wait::parks, ekiden::barrier_wait::yields_first}) {
        constexpr int threads = 6;
        constexpr int rounds = 3000;
        barrier b(threads, ekiden::no_completion{}, how);
        std::atomic<int> arrived{0};
        std::atomic<bool> wrong{false};
        stress::together(threads, [&](int, stress::noise& noise) {
            for (int r = 1; r <= rounds; ++r) {
                noise();
                arrived.fetch_add(1);
                b.arrive_and_wait();
                const int now = arrived;
                if (now < r * threads || now >= (r + 1) * threads) wrong = true;
            }
        });
        CHECK_FALSE(wrong);
    }
}

TEST_CASE("the completion runs once a round, after the last arrival and before anybody goes on") {
    constexpr int threads = 4;
    constexpr int rounds = 2000;
    int completed = 0;
    std::atomic<int> arrived{0};
    std::atomic<bool> wrong{false};
    auto completion = [&]() noexcept {
        ++completed;
        if (arrived != completed * threads) wrong = true;
    };
    barrier b(threads, completion);
    stress::together(threads, [&](int, stress::noise& noise) {
        for (int r = 1; r <= rounds; ++r) {
            noise();
            arrived.fetch_add(1);
            b.arrive_and_wait();
            if (completed < r) wrong = true;
        }
    });
    CHECK_FALSE(wrong);
    CHECK(completed == rounds);
}

TEST_CASE("arrivals may be counted without waiting, and several at once") {
    barrier b(3);
    auto first = b.arrive();
    CHECK_FALSE(b.is_complete(first));
    CHECK_FALSE(b.wait(first, ekiden::wait_limit::after(2ms)));
    auto others = b.arrive(2);
    CHECK(b.is_complete(first));
    b.wait(first);
    b.wait(others);
    CHECK_FALSE(b.is_complete(b.arrive()));
}

TEST_CASE("a round that is complete stays complete for a thread while another thread is inside") {
    const std::function<void()>* during = nullptr;
    const auto completion = [&]() noexcept {
        if (during != nullptr) (*during)();
    };
    ekiden::barrier b(1, completion);
    const auto first = b.arrive();
    REQUIRE(b.is_complete(first));
    bool is_passed = false;
    bool is_over = false;
    const std::function<void()> ask = [&] { // in the second round's completion, which runs inside
        std::thread([&] {
            is_passed = b.is_complete(first);
            is_over = b.wait(first, ekiden::wait_limit::after(std::chrono::seconds(0)));
        }).join();
    };
    during = &ask;
    (void)b.arrive();
    CHECK(is_passed);
    CHECK(is_over);
}

TEST_CASE("a thread that drops out is not waited for any more") {
    constexpr int threads = 5;
    barrier b(threads);
    std::atomic<int> passed{0};
    stress::together(threads, [&](int i, stress::noise& noise) {
        for (int r = 0; r < 100 * (i + 1); ++r) {
            noise();
            b.arrive_and_wait();
        }
        b.arrive_and_drop();
        passed.fetch_add(1);
    });
    CHECK(passed == threads);
}

TEST_CASE_TEMPLATE("a barrier counts more participants than its word has room for", Completion,
                   ekiden::no_completion, decltype([]() noexcept {})) {
    constexpr std::ptrdiff_t many = 3 * std::ptrdiff_t{ekiden::state_lock::max_payload} + 5;
    static_assert(barrier<>::max() > many);
    barrier<Completion> b(many);
    for (int round = 0; round < 3; ++round) {
        const auto token = b.arrive(many - 4);
        std::thread other([&] { b.wait(b.arrive(2)); });
        CHECK_FALSE(b.wait(token, ekiden::wait_limit::after(1ms)));
        (void)b.arrive();
        b.arrive_and_wait();
        other.join();
        CHECK(b.is_complete(token));
    }
    b.arrive_and_drop();
    CHECK(b.is_complete(b.arrive(many - 1)));
    CHECK(b.is_complete(b.arrive(many - 1)));
}

TEST_CASE("a barrier refuses participants that it cannot count") {
    CHECK_THROWS_WITH(barrier<>(-1), "barrier: expected is -1, allowed is 0 or more");
    CHECK_THROWS_AS(elastic_barrier(0), std::invalid_argument);
    CHECK_THROWS_AS(elastic_barrier(elastic_barrier::max() + 1), std::invalid_argument);
}

TEST_CASE("an elastic barrier lets nobody out before all are in, nor in before all are out") {
    constexpr int threads = 6;
    constexpr int rounds = 3000;
    elastic_barrier b(threads);
    std::atomic<int> entered{0};
    std::atomic<int> left{0};
    std::atomic<bool> wrong{false};
    stress::together(threads, [&](int, stress::noise& noise) {
        for (int r = 1; r <= rounds; ++r) {
            entered.fetch_add(1); // asked to enter
            b.enter();
            if (left < (r - 1) * threads) wrong = true;
            noise();
            left.fetch_add(1); // asked to leave
            b.leave();
            if (entered < r * threads) wrong = true;
            noise();
        }
    });
    CHECK_FALSE(wrong);
}

TEST_CASE("entering an elastic barrier does not wait for the others, leaving does") {
    elastic_barrier b(2);
    b.enter();
    CHECK_FALSE(b.leave(ekiden::wait_limit::after(2ms)));
    b.enter();
    CHECK_FALSE(b.enter(ekiden::wait_limit::after(2ms)));
    b.leave();
    b.leave();
    CHECK(b.enter(ekiden::wait_limit::after(2ms)));
    b.enter();
    b.leave();
    b.leave();
}
