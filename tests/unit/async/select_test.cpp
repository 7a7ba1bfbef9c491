// An item from whichever of several buffers has one first.
#include "lock_support.hpp"

#include <ekiden/async/async_buffer.hpp>
#include <ekiden/async/select.hpp>

#include "../effort.hpp"

#include <doctest/doctest.h>

#include <array>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <variant>
#include <vector>

using namespace ekiden;
using ekiden_test::until;
using lock_support::spawner;

TEST_CASE("a select takes an item that is there, and waits for one that is not") {
    thread_pool pool(1);
    bounded_buffer<int> numbers(1);
    watermark_buffer<std::string> words(0, 2);
    (void)words.push("there");
    std::vector<std::string> got;
    std::atomic<int> taken{0};
    spawner coroutines(pool.get_executor());
    coroutines.spawn([&]() -> coroutine<> {
        for (int i = 0; i < 3; ++i) {
            auto one = co_await select(numbers, words);
            got.push_back(one->index() == 0 ? std::to_string(std::get<0>(*one)) : std::get<1>(*one));
            ++taken;
        }
    });
    until([&] { return taken == 1; });
    (void)numbers.push(17);
    until([&] { return taken == 2; });
    (void)words.push("late");
    coroutines.join();
    CHECK(got == std::vector<std::string>{"there", "17", "late"});
}

TEST_CASE("rule: select over several channels loses no element, however many select from the same") {
    constexpr int selecting = 4;
    const int items = ekiden_test::rounds(3000);
    thread_pool pool(2);
    std::array<bounded_buffer<int>, 3> buffers{bounded_buffer<int>(1), bounded_buffer<int>(2),
                                               bounded_buffer<int>(16)};
    std::atomic<long> sum{0};
    std::atomic<int> count{0};
    {
        spawner coroutines(pool.get_executor());
        for (int i = 0; i < selecting; ++i) {
            coroutines.spawn([&, i]() -> coroutine<> {
                for (;;) {
                    // Not all in one order.
                    auto& first = buffers[static_cast<std::size_t>(i % 3)];
                    auto& second = buffers[static_cast<std::size_t>((i + 1) % 3)];
                    auto& third = buffers[static_cast<std::size_t>((i + 2) % 3)];
                    const auto got = co_await select(first, second, third);
                    if (!got) break;
                    sum += std::visit([](int item) { return item; }, *got);
                    ++count;
                }
            });
        }
        coroutines.spawn([&]() -> coroutine<> { // one that takes from a single one
            for (;;) {
                const std::optional<int> item = co_await async_pop(buffers[2]);
                if (!item) break;
                sum += *item;
                ++count;
            }
        });
        std::vector<std::thread> producers;
        for (int i = 0; i < 2; ++i) {
            producers.emplace_back([&, i] {
                for (int k = 0; k < items; ++k) (void)buffers[static_cast<std::size_t>(i)].push(k);
                buffers[static_cast<std::size_t>(i)].close();
            });
        }
        coroutines.spawn([&]() -> coroutine<> {
            for (int k = 0; k < items; ++k) (void)co_await async_push(buffers[2], int{k});
            buffers[2].close();
        });
        for (std::thread& one : producers) one.join();
    }
    CHECK(count == 3 * items);
    CHECK(sum == 3L * items * (items - 1) / 2);
}

TEST_CASE("rule: a select that is stopped leaves no trace and loses no element") {
    const int rounds = ekiden_test::rounds(1500);
    thread_pool pool(2);
    for (int r = 0; r < rounds; ++r) {
        bounded_buffer<int> a(2);
        bounded_buffer<int> b(2);
        stop_state stop;
        std::atomic<int> taken{0};
        std::atomic<int> stopped{0};
        {
            spawner coroutines(pool.get_executor(), &stop);
            for (int i = 0; i < 3; ++i) {
                coroutines.spawn([&]() -> coroutine<> {
                    const auto got = co_await select(a, b);
                    ++(got ? taken : stopped);
                });
            }
            std::thread stopper([&] { stop.request_stop(); });
            (void)a.push(1);
            (void)b.push(2);
            stopper.join();
        }
        int left = 0;
        while (a.try_pop()) ++left;
        while (b.try_pop()) ++left;
        REQUIRE(taken + left == 2);
        REQUIRE(taken + stopped == 3);
    }
}

TEST_CASE("closed buffers are passed over, until all are closed and empty") {
    thread_pool pool(1);
    bounded_buffer<int> a(1);
    bounded_buffer<int> b(1);
    std::atomic<int> got_from_b{0};
    std::atomic<bool> asked{false};
    bool has_ended = false;
    spawner coroutines(pool.get_executor());
    coroutines.spawn([&]() -> coroutine<> {
        for (;;) {
            asked = true;
            const auto got = co_await select(a, b);
            if (!got) break;
            got_from_b += got->index() == 1 ? 1 : 0;
        }
        has_ended = true;
    });
    until([&] { return asked.load(); });
    a.close();
    (void)b.push(1);
    until([&] { return got_from_b == 1; });
    (void)b.push(2);
    b.close();
    coroutines.join();
    CHECK(got_from_b == 2);
    CHECK(has_ended);
    coroutines.spawn([&]() -> coroutine<> {
        const auto got = co_await select(a, b);
        CHECK_FALSE(got);
        CHECK(got.status() == queue_status::closed);
    });
}

TEST_CASE("rule: a select rotates: of buffers that always have items each gives its share") {
    thread_pool pool(1);
    bounded_buffer<int> a(300);
    bounded_buffer<int> b(300);
    bounded_buffer<int> c(300);
    for (int i = 0; i < 300; ++i) (void)a.push(0), (void)b.push(0), (void)c.push(0);
    std::array<int, 3> taken{};
    spawner coroutines(pool.get_executor());
    coroutines.spawn([&]() -> coroutine<> {
        for (int i = 0; i < 300; ++i) {
            const auto got = co_await select(a, b, c);
            ++taken[got->index()];
        }
    });
    coroutines.join();
    for (const int n : taken) CHECK(n >= 99);
}

TEST_CASE("rule: priority only on request, and then with a cap: the last one is never starved") {
    thread_pool pool(1);
    bounded_buffer<int> a(300);
    bounded_buffer<int> b(300);
    bounded_buffer<int> c(300);
    for (int i = 0; i < 300; ++i) (void)a.push(0), (void)b.push(0), (void)c.push(0);
    std::array<int, 3> taken{};
    spawner coroutines(pool.get_executor());
    coroutines.spawn([&]() -> coroutine<> {
        select_priority order(9);
        for (int i = 0; i < 200; ++i) {
            const auto got = co_await select(order, a, b, c);
            ++taken[got->index()];
        }
    });
    coroutines.join();
    CHECK(taken[0] == 180);
    CHECK(taken[1] == 10);
    CHECK(taken[2] == 10);
    CHECK_THROWS_AS(select_priority(0), std::invalid_argument);
}

TEST_CASE("a select begun after the stop takes nothing") {
    thread_pool pool(1);
    stop_state stop;
    stop.request_stop();
    bounded_buffer<int> a(1);
    (void)a.push(1);
    spawner coroutines(pool.get_executor(), &stop);
    coroutines.spawn([&]() -> coroutine<> {
        const auto got = co_await select(a);
        CHECK_FALSE(got);
        CHECK(got.status() == queue_status::stopped);
    });
    coroutines.join();
    CHECK(a.size() == 1);
}

TEST_CASE("coroutines that select end with their context, and take their waiters out of all buffers") {
    const int n = ekiden_test::rounds(1000);
    bounded_buffer<int> a(1);
    bounded_buffer<std::unique_ptr<int>> b(1);
    std::atomic<int> ended{0};
    {
        thread_pool gone(2);
        std::atomic<int> asked{0};
        for (int i = 0; i < n; ++i) {
            auto body = [&]() -> coroutine<> {
                ++asked;
                const auto got = co_await select(a, b);
                FAIL("nothing has come: " << got->index());
            };
            auto& promise = lock_support::root(std::move(body), ended).promise();
            promise.begin(gone.get_executor());
        }
        until([&] { return asked == n; });
        gone.stop();
    }
    CHECK(ended == n);
    (void)a.push(1);
    (void)b.push(std::make_unique<int>(2));
    CHECK(a.size() + b.size() == 2);
}
