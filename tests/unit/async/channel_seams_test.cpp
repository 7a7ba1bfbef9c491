// Channels between coroutines, at the seams of their promises: close beside select, batches that end early,
// and moves that throw.
#include "lock_support.hpp"

#include <ekiden/async/async_channel.hpp>
#include <ekiden/async/select.hpp>
#include <ekiden/async/with_deadline.hpp>

#include "../effort.hpp"

#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <span>
#include <stdexcept>
#include <vector>

using namespace ekiden;
using namespace std::chrono_literals;
using ekiden_test::until;
using lock_support::spawner;

namespace {

/// Throws in the move that makes `left` 0.
struct fragile {
    int* left;

    explicit fragile(int& moves) : left(&moves) {}
    fragile(fragile&& other) : left(other.left) {
        if (--*left == 0) throw std::runtime_error("move");
    }
};

template <class T>
coroutine<> push_all(channel<T>& ch, std::span<T> items, pushed_range& result) {
    result = co_await async_push_range(ch, items);
}

std::vector<std::unique_ptr<int>> boxes(int count) {
    std::vector<std::unique_ptr<int>> result;
    for (int i = 0; i != count; ++i) result.push_back(std::make_unique<int>(i));
    return result;
}

/// Returns when all coroutines of `coroutines` wait. Their pool must have one thread.
void run_until_all_wait(spawner& coroutines) {
    const int before = coroutines.running();
    coroutines.spawn([]() -> coroutine<> { co_return; }); // begins behind the others
    until([&] { return coroutines.running() == before; });
}

} // namespace

TEST_CASE("a channel that is closed during selects loses no accepted item, and each select ends") {
    const int rounds = ekiden_test::rounds(300);
    thread_pool pool(2);
    for (int r = 0; r < rounds; ++r) {
        channel<int> queue(r % 2 == 0 ? channel<int>::unbounded : 1);
        channel<int> meeting(0);
        std::atomic<int> taken{0};
        std::atomic<int> accepted{0};
        {
            spawner coroutines(pool.get_executor());
            for (int i = 0; i < 3; ++i) {
                coroutines.spawn([&]() -> coroutine<> {
                    for (;;) {
                        const auto got = co_await select(queue, meeting);
                        if (!got) break;
                        ++taken;
                    }
                });
            }
            for (auto* to : {&queue, &meeting}) {
                coroutines.spawn([&, to]() -> coroutine<> {
                    for (;;) {
                        const queue_status result = co_await async_push(*to, 1);
                        if (result != queue_status::done) break;
                        ++accepted;
                    }
                });
            }
            if (r % 3 != 0) until([&] { return taken > r % 20; });
            queue.close();
            meeting.close();
        }
        CAPTURE(r);
        REQUIRE(taken.load() == accepted.load());
    }
}

TEST_CASE("a stop or a deadline ends an async_push_range that is partly done") {
    thread_pool pool(2);
    for (const bool has_deadline : {false, true}) {
        CAPTURE(has_deadline);
        channel<std::unique_ptr<int>> ch(3);
        auto items = boxes(5);
        pushed_range result;
        stop_state stop;
        {
            spawner coroutines(pool.get_executor(), &stop);
            coroutines.spawn([&]() -> coroutine<> {
                const auto pushes = [&] { return push_all(ch, std::span(items), result); };
                if (!has_deadline) {
                    co_await pushes();
                    co_return;
                }
                try {
                    co_await with_timeout(1ms, pushes);
                } catch (const timed_out&) { // the result is in `result`, too
                }
            });
            if (!has_deadline) {
                until([&] { return ch.size() == 3; });
                stop.request_stop();
            }
        }
        CHECK(result.count == 3);
        CHECK(result.status == (has_deadline ? queue_status::timed_out : queue_status::stopped));
        CHECK((items[2] == nullptr && items[3] != nullptr && items[4] != nullptr));
        for (int i = 0; i != 3; ++i) CHECK(**ch.try_pop() == i);
        CHECK(ch.try_pop().status() == queue_status::would_wait);
    }
}

TEST_CASE("if the move of an item throws, an awaited push, an awaited pop and a select throw") {
    thread_pool pool(2);
    for (const std::size_t capacity : {std::size_t{0}, std::size_t{1}, channel<int>::unbounded}) {
        for (const bool selects : {false, true}) {
            CAPTURE(capacity);
            CAPTURE(selects);
            channel<fragile> ch(capacity);
            channel<int> other;
            std::atomic<bool> has_asked{false};
            std::atomic<int> push_throws{0};
            std::atomic<int> pop_throws{0};
            int moves = capacity == 0 ? 1 : 2; // the pop moves first, or second
            {
                spawner coroutines(pool.get_executor());
                coroutines.spawn([&]() -> coroutine<> {
                    has_asked = true;
                    try {
                        if (selects)
                            (void)co_await select(ch, other);
                        else
                            (void)co_await async_pop(ch);
                    } catch (const std::runtime_error&) {
                        ++pop_throws;
                    }
                });
                until([&] { return has_asked.load(); });
                coroutines.spawn([&]() -> coroutine<> {
                    fragile item(moves);
                    try {
                        (void)co_await async_push(ch, std::move(item));
                    } catch (const std::runtime_error&) {
                        ++push_throws;
                    }
                });
            }
            CHECK(pop_throws == 1);
            CHECK(push_throws == (capacity == 0 ? 1 : 0));
            CHECK(ch.try_pop().status() == queue_status::would_wait);
            CHECK(other.try_push(1) == queue_status::done);
            CHECK(other.try_pop() == 1); // the select has left no waiter behind
        }
    }
}

TEST_CASE("a coroutine whose push waits behind a push that throws gets its room, if a thread only polls") {
    thread_pool pool(1);
    channel<fragile> ch(1);
    std::atomic<int> thrown{0};
    std::atomic<int> pushed{0};
    int never = 1000;
    int first_move = 1;
    CHECK(ch.try_push(fragile(never)) == queue_status::done);
    {
        spawner coroutines(pool.get_executor());
        coroutines.spawn([&]() -> coroutine<> {
            fragile item(first_move);
            try {
                (void)co_await async_push_for(ch, std::move(item), 25s);
            } catch (const std::runtime_error&) {
                ++thrown;
            }
        });
        coroutines.spawn([&]() -> coroutine<> {
            fragile item(never);
            const queue_status result = co_await async_push_for(ch, std::move(item), 25s);
            if (result == queue_status::done) ++pushed;
        });
        run_until_all_wait(coroutines);
        int got = 0;
        const auto end = std::chrono::steady_clock::now() + 20s;
        while (got != 2 && std::chrono::steady_clock::now() < end) got += ch.try_pop().has_value();
        CHECK(got == 2);
    }
    CHECK(thrown == 1);
    CHECK(pushed == 1);
    CHECK(ch.size() == 0);
}

TEST_CASE("an awaited pop and a select wait on after a push that throws, and get the next item") {
    thread_pool pool(1);
    for (const std::size_t capacity : {std::size_t{1}, channel<int>::unbounded}) {
        for (const bool selects : {false, true}) {
            CAPTURE(capacity);
            CAPTURE(selects);
            channel<fragile> ch(capacity);
            channel<int> other;
            std::atomic<int> got{0};
            int never = 1000;
            spawner coroutines(pool.get_executor());
            coroutines.spawn([&]() -> coroutine<> {
                if (selects)
                    (void)co_await select(ch, other);
                else
                    (void)co_await async_pop(ch);
                ++got;
            });
            run_until_all_wait(coroutines);
            for (int i = 0; i != 3; ++i) {
                int first_move = 1;
                CHECK_THROWS_AS((void)ch.try_push(fragile(first_move)), std::runtime_error);
            }
            CHECK(ch.size() == 0);
            CHECK(got == 0);
            CHECK(ch.try_push(fragile(never)) == queue_status::done);
            coroutines.join();
            CHECK(got == 1);
            CHECK(ch.try_pop().status() == queue_status::would_wait);
            CHECK(other.try_push(1) == queue_status::done);
            CHECK(other.try_pop() == 1); // the select has left no waiter behind
        }
    }
}

TEST_CASE("a stopped coroutine at a rendezvous takes nothing from a waiting partner") {
    thread_pool pool(1);
    channel<int> ch(0);
    stop_state stop;
    stop.request_stop();
    std::atomic<bool> has_stopped{false};
    std::atomic<bool> is_pushed{false};
    {
        spawner coroutines(pool.get_executor());
        coroutines.spawn([&]() -> coroutine<> {
            const queue_status result = co_await async_push(ch, 1);
            is_pushed = result == queue_status::done;
        });
        coroutines.spawn(pool.get_executor(), &stop, [&]() -> coroutine<> {
            const auto item = co_await async_pop(ch);
            has_stopped = item.status() == queue_status::stopped;
        });
        until([&] { return has_stopped.load(); });
        CHECK_FALSE(is_pushed);
        until([&] { return ch.try_pop() == 1; });
    }
    CHECK(is_pushed);
}
