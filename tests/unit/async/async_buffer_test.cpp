// The bounded buffers as channels: many to many, closed, stopped, and what nobody may lose.
#include "lock_support.hpp"

#include <ekiden/async/async_buffer.hpp>
#include <ekiden/async/co_spawn.hpp>
#include <ekiden/loop/loop_context.hpp>

#include "../effort.hpp"

#include <doctest/doctest.h>

#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

using namespace ekiden;
using ekiden_test::until;
using lock_support::spawner;

namespace {

/// Throws when it is moved for the n-th time.
struct brittle {
    int value;
    int* moves_left;

    brittle(int v, int* left) noexcept : value(v), moves_left(left) {}
    brittle(brittle&& other) : value(other.value), moves_left(other.moves_left) {
        if (--*moves_left == 0) throw std::runtime_error("brittle");
    }
};

} // namespace

TEST_CASE("every item goes through once, in each producer's order, between coroutines and threads") {
    for (const std::size_t capacity : {1U, 2U, 64U}) {
        constexpr int producers = 4; // one of them a thread
        constexpr int consumers = 4; // one of them a thread
        const int items = ekiden_test::rounds(3000);
        thread_pool pool(2);
        bounded_buffer<long> buffer(capacity);
        std::atomic<long> sum{0};
        std::atomic<bool> wrong{false};
        std::atomic<int> producing{producers};
        struct checker {
            long last[producers] = {-1, -1, -1, -1};
            bool is_in_order(long item) {
                long& before = last[item % producers];
                const bool fine = before < item;
                before = item;
                return fine;
            }
        };
        {
            spawner coroutines(pool.get_executor());
            for (int i = 0; i < producers - 1; ++i) {
                coroutines.spawn([&, i]() -> coroutine<> {
                    for (int k = 0; k < items; ++k) {
                        const queue_status r = co_await async_push(buffer, long{k} * producers + i);
                        if (r != queue_status::done) wrong = true;
                    }
                    if (--producing == 0) buffer.close();
                });
            }
            for (int i = 0; i < consumers - 1; ++i) {
                coroutines.spawn([&]() -> coroutine<> {
                    checker order;
                    for (;;) {
                        const std::optional<long> item = co_await async_pop(buffer);
                        if (!item) break;
                        if (!order.is_in_order(*item)) wrong = true;
                        sum += *item;
                    }
                });
            }
            std::thread producer([&] {
                for (int k = 0; k < items; ++k) (void)buffer.push(long{k} * producers + producers - 1);
                if (--producing == 0) buffer.close();
            });
            std::thread consumer([&] {
                checker order;
                while (const std::optional<long> item = buffer.pop()) {
                    if (!order.is_in_order(*item)) wrong = true;
                    sum += *item;
                }
            });
            producer.join();
            consumer.join();
        }
        const long n = long{items} * producers;
        CHECK_FALSE(wrong);
        CHECK(sum == n * (n - 1) / 2);
    }
}

TEST_CASE("a watermark_buffer lets its producers on when it has drained, coroutines too") {
    thread_pool pool(1);
    watermark_buffer<int> buffer(1, 3);
    std::atomic<int> pushed{0};
    spawner coroutines(pool.get_executor());
    coroutines.spawn([&]() -> coroutine<> {
        for (int i = 0; i < 5; ++i) {
            const queue_status r = co_await async_push(buffer, int{i});
            pushed += r == queue_status::done ? 1 : 0;
        }
    });
    until([&] { return pushed == 3; });
    CHECK(buffer.pop() == 0);
    CHECK(pushed == 3);
    CHECK(buffer.pop() == 1); // drained
    coroutines.join();
    CHECK(pushed == 5);
    for (int i = 2; i < 5; ++i) CHECK(buffer.pop() == i);
}

TEST_CASE("rule: close wakes all senders and receivers, and what was accepted can still be read") {
    const int rounds = ekiden_test::rounds(300);
    thread_pool pool(2);
    for (int r = 0; r < rounds; ++r) {
        bounded_buffer<int> full(2);
        bounded_buffer<int> empty(2);
        (void)full.push(1);
        (void)full.push(2);
        std::atomic<int> refused{0};
        std::atomic<int> ended{0};
        std::atomic<int> asked{0};
        {
            spawner coroutines(pool.get_executor());
            for (int i = 0; i < 5; ++i) {
                coroutines.spawn([&]() -> coroutine<> {
                    ++asked;
                    const queue_status result = co_await async_push(full, 3);
                    refused += result == queue_status::closed ? 1 : 0;
                });
                coroutines.spawn([&]() -> coroutine<> {
                    ++asked;
                    const std::optional<int> item = co_await async_pop(empty);
                    ended += item ? 0 : 1;
                });
            }
            if (r % 2 == 0) until([&] { return asked == 10; });
            full.close();
            empty.close();
        }
        REQUIRE(refused == 5);
        REQUIRE(ended == 5);
        REQUIRE(full.pop() == 1);
        REQUIRE(full.pop() == 2);
        REQUIRE_FALSE(full.pop());
    }
}

TEST_CASE("rule: a push that is canceled or refused leaves its argument untouched") {
    thread_pool pool(1);
    stop_state stop;
    bounded_buffer<std::unique_ptr<int>> buffer(1);
    (void)buffer.push(std::make_unique<int>(0));
    std::atomic<bool> asked{false};
    auto first = std::make_unique<int>(1);
    auto second = std::make_unique<int>(2);
    auto third = std::make_unique<int>(3);
    std::vector<queue_status> results;
    spawner coroutines(pool.get_executor(), &stop);
    coroutines.spawn([&]() -> coroutine<> {
        asked = true;
        const queue_status waited = co_await async_push(buffer, std::move(first));
        results.push_back(waited);
        const queue_status late = co_await async_push(buffer, std::move(second));
        results.push_back(late);
    });
    until([&] { return asked.load(); });
    stop.request_stop();
    coroutines.join();
    buffer.close();
    coroutines.spawn(pool.get_executor(), nullptr, [&]() -> coroutine<> {
        const queue_status closed = co_await async_push(buffer, std::move(third));
        results.push_back(closed);
    });
    coroutines.join();
    CHECK(results == std::vector{queue_status::stopped, queue_status::stopped, queue_status::closed});
    REQUIRE(first != nullptr);
    REQUIRE(second != nullptr);
    REQUIRE(third != nullptr);
    CHECK(*first + *second + *third == 6);
    CHECK(**buffer.pop() == 0);
    CHECK_FALSE(buffer.pop());
}

TEST_CASE("rule: a cancel leaves no trace in the state: a thread can push and pop afterwards") {
    thread_pool pool(1);
    bounded_buffer<int> buffer(1);
    for (const bool is_push : {true, false}) {
        if (is_push) (void)buffer.push(7);
        stop_state stop;
        std::atomic<bool> asked{false};
        spawner coroutines(pool.get_executor(), &stop);
        coroutines.spawn([&]() -> coroutine<> {
            asked = true;
            if (is_push) {
                const queue_status r = co_await async_push(buffer, 8);
                CHECK(r == queue_status::stopped);
            } else {
                const std::optional<int> item = co_await async_pop(buffer);
                CHECK_FALSE(item);
            }
        });
        until([&] { return asked.load(); });
        stop.request_stop();
        coroutines.join();
        CHECK(buffer.try_pop().status() == (is_push ? queue_status::done : queue_status::would_wait));
        CHECK(buffer.try_push(9) == queue_status::done);
        CHECK(buffer.try_pop() == 9);
    }
}

TEST_CASE("rule: with n items and random stops exactly n arrive, and none vanishes") {
    const int rounds = ekiden_test::rounds(500);
    thread_pool pool(2);
    for (int r = 0; r < rounds; ++r) {
        constexpr int items = 20;
        bounded_buffer<int> buffer(3);
        std::vector<std::unique_ptr<stop_state>> stops;
        std::atomic<int> arrived{0};
        std::atomic<int> sum{0};
        std::atomic<int> handed_in{0};
        {
            spawner coroutines(pool.get_executor());
            for (int i = 0; i < 6; ++i) {
                stop_state* const stop = stops.emplace_back(std::make_unique<stop_state>()).get();
                coroutines.spawn(pool.get_executor(), stop, [&]() -> coroutine<> {
                    for (;;) {
                        const std::optional<int> item = co_await async_pop(buffer);
                        if (!item) break;
                        ++arrived;
                        sum += *item;
                    }
                });
                coroutines.spawn(pool.get_executor(), stop, [&]() -> coroutine<> {
                    for (int k = 0; k < items; ++k) {
                        const queue_status result = co_await async_push(buffer, 1);
                        if (result != queue_status::done) break;
                        ++handed_in;
                    }
                });
            }
            for (auto& stop : stops) stop->request_stop();
        }
        int left = 0;
        while (buffer.try_pop()) ++left;
        REQUIRE(handed_in == arrived + left);
        REQUIRE(sum == arrived);
    }
}

TEST_CASE("a pop says why there is nothing, and the deadline of the environment is told from a stop") {
    thread_pool pool(1);
    stop_state stop;
    stop.request_stop();
    bounded_buffer<int> open(1);
    bounded_buffer<int> closed(1);
    (void)open.push(5);
    closed.close();
    std::vector<queue_status> results;
    std::optional<int> item = 1;
    const auto look = [&](bounded_buffer<int>& buffer) {
        return [&]() -> coroutine<> {
            auto got = co_await async_pop(buffer);
            results.push_back(got.status());
            item = std::move(got);
        };
    };
    spawner coroutines(pool.get_executor());
    coroutines.spawn(look(open));
    coroutines.join();
    CHECK(item == 5);
    coroutines.spawn(look(closed));
    coroutines.join();
    CHECK_FALSE(item);
    coroutines.spawn(pool.get_executor(), &stop, look(open));
    coroutines.join();
    std::atomic<int> ended{0};
    auto& late = lock_support::root(look(open), ended).promise();
    late.given_environment().stop = &stop;
    late.given_environment().deadline = sys::clock::now();
    late.begin(pool.get_executor());
    until([&] { return ended == 1; });
    CHECK(results
          == std::vector{queue_status::done, queue_status::closed, queue_status::stopped,
                         queue_status::timed_out});
}

TEST_CASE("what an item's move throws reaches the coroutine that moves it, and the buffer goes on") {
    thread_pool pool(1);
    bounded_buffer<brittle> buffer(1);
    int never = 1000;
    int at_once = 1;
    std::atomic<bool> asked{false};
    int caught = 0;
    int popped = 0;
    spawner coroutines(pool.get_executor());
    coroutines.spawn([&]() -> coroutine<> {
        brittle first(1, &at_once);
        try {
            const queue_status r = co_await async_push(buffer, std::move(first));
            CHECK(r == queue_status::closed); // not reached
        } catch (const std::runtime_error&) {
            ++caught;
        }
        asked = true;
        const std::optional<brittle> item = co_await async_pop(buffer); // waits for the thread's push
        popped = item ? item->value : 0;
    });
    until([&] { return asked.load(); });
    (void)buffer.push(brittle(2, &never));
    coroutines.join();
    CHECK(caught == 1);
    CHECK(popped == 2);
}

TEST_CASE("rule: an element that nobody takes goes to a given function") {
    std::vector<int> returned;
    bounded_buffer<int> buffer(1);
    std::atomic<int> ended{0};
    auto unclaimed = [&](int&& item) noexcept { returned.push_back(item); };
    {
        thread_pool gone(1);
        std::atomic<bool> asked{false};
        auto body = [&]() -> coroutine<> {
            asked = true;
            const std::optional<int> item = co_await async_pop(buffer, unclaimed);
            FAIL("resumed after the end of its executor, with " << *item);
        };
        auto& promise = lock_support::root(std::move(body), ended).promise();
        promise.begin(gone.get_executor());
        until([&] { return asked.load(); });
        gone.wait_idle(); // it waits
        gone.stop();
        (void)buffer.push(42); // moved into the coroutine's frame, which cannot go on
    }
    CHECK(ended == 1);
    CHECK(returned == std::vector{42});
    CHECK(buffer.size() == 0);
}

TEST_CASE("a pop and a push of other kinds of coroutines work as well") {
    // A coroutine of another library: no environment, resumed by the system_executor.
    struct foreign {
        struct promise_type {
            foreign get_return_object() noexcept { return {}; }
            static std::suspend_never initial_suspend() noexcept { return {}; }
            static std::suspend_never final_suspend() noexcept { return {}; }
            static void return_void() noexcept {}
            static void unhandled_exception() noexcept { std::terminate(); }
        };
    };
    bounded_buffer<int> buffer(1);
    std::atomic<int> got{0};
    const auto begin = [&]() -> foreign {
        const std::optional<int> item = co_await async_pop(buffer);
        const std::optional<int> other = co_await async_pop(buffer);
        got = *item + *other;
    };
    begin();
    (void)buffer.push(3);
    (void)buffer.push(4);
    until([&] { return got != 0; });
    CHECK(got == 7);
}

TEST_CASE("async_push of an object that has a name pushes a copy of it") {
    loop_context loop;
    bounded_buffer<std::string> buffer(1);
    std::string item = "as it was at the call";
    const std::string constant = "a constant";
    auto pushed = co_spawn(
        loop,
        [&]() -> coroutine<bool> {
            const queue_status first = co_await async_push(buffer, item);
            auto waits = async_push(buffer, constant);
            const queue_status second = co_await waits;
            co_return first == queue_status::done&& second == queue_status::done;
        },
        use_future);
    loop.poll();
    CHECK(item == "as it was at the call");
    CHECK(buffer.pop() == item);
    loop.run();
    CHECK(pushed.get());
    CHECK(buffer.pop() == constant);
}
