// when_all: results, exceptions, what is stopped, and what is left.
#include "../effort.hpp"
#include "run_coroutine.hpp"

#include <ekiden/async/when_all.hpp>
#include <ekiden/loop/loop_context.hpp>
#include <ekiden/pool/thread_pool.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <functional>
#include <future>
#include <list>
#include <memory>
#include <ranges>
#include <span>
#include <stdexcept>
#include <string>
#include <system_error>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

namespace {

using namespace ekiden;
using namespace ekiden_test;

coroutine<> nothing() { co_return; }
coroutine<> fail() {
    throw std::runtime_error("failed");
    co_return;
}

} // namespace

TEST_CASE("when_all of a pack gives the results in the order of its members") {
    thread_pool pool(2);
    gate closed;
    int target = 7;
    const auto name = [&]() -> coroutine<std::string> {
        co_await closed.wait();
        co_return "name";
    };
    const auto reference = [&]() -> coroutine<int&> { co_return target; };
    auto running = begin_on(pool.get_executor(), [&]() -> coroutine<> {
        auto [one, text, none, same] = co_await when_all(number(1), name, nothing(), reference);
        CHECK(one == 1);
        CHECK(text == "name");
        CHECK(none == std::monostate());
        CHECK(&same.get() == &target);
        co_await when_all(nothing(), nothing()); // no results: nothing
    });
    until([&] { return closed.waiting() == 1; });
    closed.open();
    running.get();
}

TEST_CASE("when_all of a range gives a vector, and moves from what is given away") {
    thread_pool pool(2);
    gate closed;
    auto running = begin_on(pool.get_executor(), [&]() -> coroutine<> {
        std::vector<coroutine<int>> all;
        for (int i = 0; i != 10; ++i) all.push_back(i % 2 == 0 ? number(i) : number_behind(closed, i));
        const std::vector<int> got = co_await when_all(std::move(all));
        CHECK(got == std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
        std::list<std::function<coroutine<>()>> callables(3, nothing);
        co_await when_all(callables);
        CHECK(callables.front() != nullptr); // copied
    });
    until([&] { return closed.waiting() == 5; });
    closed.open();
    running.get();
}

TEST_CASE("when_all of a view leaves the callables to their container") {
    thread_pool pool(1);
    run_on(pool.get_executor(), []() -> coroutine<> {
        std::vector<std::function<coroutine<>()>> callables(3, nothing);
        for (int round = 0; round != 2; ++round) {
            co_await when_all(std::span(callables));
            co_await when_all(std::views::all(callables));
            co_await when_all(callables | std::views::take(2));
            for (const auto& each : callables) CHECK(each != nullptr);
        }
        // Elements that the view makes are its own.
        const auto got = co_await when_all(std::views::iota(0, 3) | std::views::transform(number));
        CHECK(got == std::vector<int>{0, 1, 2});
    });
}

TEST_CASE("rule: when_all of none completes") {
    thread_pool pool(1);
    run_on(pool.get_executor(), []() -> coroutine<> {
        std::vector<coroutine<int>> none;
        const auto got = co_await when_all(std::move(none));
        CHECK(got.empty());
        std::vector<coroutine<>> nobody;
        co_await when_all(std::move(nobody));
    });
}

TEST_CASE("an exception of when_all stops the others, waits for them, and comes out with its type") {
    thread_pool pool(2);
    gate never;
    gate go;
    std::atomic<int> stopped{0};
    auto running = begin_on(pool.get_executor(), [&]() -> coroutine<> {
        const auto waiting = [&]() -> coroutine<> {
            try {
                co_await never.wait();
            } catch (const operation_canceled&) {
                ++stopped;
                throw;
            }
        };
        const auto failing = [&]() -> coroutine<> {
            co_await go.wait();
            co_await fail();
        };
        try {
            co_await when_all(waiting, failing, waiting);
            FAIL("nothing came out");
        } catch (const std::runtime_error& error) {
            CHECK(std::string(error.what()) == "failed");
            CHECK(stopped == 2);
        }
    });
    until([&] { return never.waiting() == 2 && go.waiting() == 1; });
    go.open();
    running.get();
}

TEST_CASE("after a member of when_all has thrown at once the rest does not begin") {
    thread_pool pool(1);
    run_on(pool.get_executor(), []() -> coroutine<> {
        bool has_begun = false;
        const auto late = [&]() -> coroutine<> {
            has_begun = true;
            co_return;
        };
        const auto throwing_call = []() -> coroutine<> { throw 5; };
        try {
            co_await when_all(throwing_call, late);
        } catch (int n) {
            CHECK(n == 5);
        }
        CHECK_FALSE(has_begun);
    });
}

TEST_CASE("a stop from outside reaches all of when_all, and comes out as operation_canceled") {
    thread_pool pool(2);
    stop_state stop;
    gate never;
    auto running = begin_on(
        pool.get_executor(), [&]() -> coroutine<> { co_await when_all(wait_at(never), wait_at(never)); },
        &stop);
    until([&] { return never.waiting() == 2; });
    stop.request_stop();
    CHECK_THROWS_AS(running.get(), operation_canceled);
}

TEST_CASE("a real exception in the clean-up of a stopped member comes out before operation_canceled") {
    thread_pool pool(2);
    stop_state stop;
    gate never;
    auto running = begin_on(
        pool.get_executor(),
        [&]() -> coroutine<> {
            const auto cleaning = [&]() -> coroutine<> {
                bool is_stopped = false;
                try {
                    co_await never.wait();
                } catch (const operation_canceled&) {
                    is_stopped = true;
                }
                if (is_stopped) co_await fail();
            };
            co_await when_all(wait_at(never), cleaning);
        },
        &stop);
    until([&] { return never.waiting() == 2; });
    stop.request_stop();
    CHECK_THROWS_AS(running.get(), std::runtime_error);
}

TEST_CASE("a capturing coroutine lambda is kept as long as its coroutine") {
    thread_pool pool(2);
    gate closed;
    auto running = begin_on(pool.get_executor(), [&]() -> coroutine<> {
        auto make = [&](int n) { // the callables that it makes are gone when they run, but for the copies
            auto owned = std::make_shared<int>(n);
            return [&closed, owned]() -> coroutine<int> {
                co_await closed.wait();
                co_return *owned;
            };
        };
        auto first = make(1);
        auto second = make(2);
        auto both = when_all(std::move(first), std::move(second));
        auto [one, two] = co_await both;
        CHECK(one + two == 3);
    });
    until([&] { return closed.waiting() == 2; });
    closed.open();
    running.get();
}

TEST_CASE("members may nest deeply, on the stack and off it") {
    thread_pool pool(2);
    struct nested {
        static coroutine<int> level(int n) {
            if (n == 0) co_return 1;
            auto [one, other] = co_await when_all(level(n - 1), number(1));
            co_return one + other;
        }
    };
    const int depth = rounds(10000);
    CHECK(run_on(pool.get_executor(), [&] { return nested::level(depth); }) == depth + 1);
}

TEST_CASE("many members that wait, on several threads") {
    thread_pool pool(2);
    for (int round = rounds(50); round > 0; --round) {
        gate closed;
        auto running = begin_on(pool.get_executor(), [&]() -> coroutine<int> {
            std::vector<coroutine<int>> all;
            for (int i = 0; i != 100; ++i) all.push_back(number_behind(closed, 1));
            const auto got = co_await when_all(std::move(all));
            int sum = 0;
            for (const int n : got) sum += n;
            co_return sum;
        });
        closed.open(); // at whatever moment
        CHECK(running.get() == 100);
    }
}

TEST_CASE(
    "rule: context destroyed with members of when_all that wait: all frames destroyed once, no resume") {
    struct witness {
        std::atomic<int>* ended;
        explicit witness(std::atomic<int>& e) : ended(&e) {}
        ~witness() { ++*ended; }
        witness(const witness&) = delete;
        witness& operator=(const witness&) = delete;
    };
    std::atomic<int> ended{0};
    std::atomic<bool> is_resumed{false};
    gate never;
    future<void> result;
    {
        loop_context loop;
        result = begin_on(loop.get_executor(), [&]() -> coroutine<> {
            const witness outer(ended);
            const auto waiting = [&]() -> coroutine<> {
                const witness inner(ended);
                co_await never.wait();
                is_resumed = true;
            };
            co_await when_all(waiting, waiting, waiting);
            is_resumed = true;
        });
        loop.poll();
        CHECK(never.waiting() == 3);
    }
    CHECK(ended == 4);
    CHECK(never.waiting() == 0);
    CHECK_FALSE(is_resumed);
    CHECK_THROWS_AS(result.get(), std::future_error);
}

TEST_CASE("members that are dropped by an executor drop the one that awaits, when the last has ended") {
    std::atomic<int> ended{0};
    struct witness {
        std::atomic<int>* ended;
        explicit witness(std::atomic<int>& e) : ended(&e) {}
        ~witness() { ++*ended; }
        witness(const witness&) = delete;
        witness& operator=(const witness&) = delete;
    };
    gate closed;
    future<void> result;
    {
        loop_context loop;
        result = begin_on(loop.get_executor(), [&]() -> coroutine<> {
            const witness outer(ended);
            const auto waiting = [&]() -> coroutine<> {
                const witness inner(ended);
                co_await closed.wait();
            };
            co_await when_all(waiting, waiting);
        });
        loop.poll();
        closed.open(); // both are queued
    }
    CHECK(ended == 3);
    CHECK_THROWS_AS(result.get(), std::future_error);
}

TEST_CASE("context destroyed: a callable of a group outlives its coroutine") {
    std::weak_ptr<gate> seen;
    future<void> result;
    {
        loop_context loop;
        result = begin_on(loop.get_executor(), [&]() -> coroutine<> {
            auto owned = std::make_shared<gate>();
            seen = owned;
            auto waiting = [kept = std::move(owned)]() -> coroutine<> { co_await kept->wait(); };
            auto all = when_all(std::move(waiting));
            co_await all;
        });
        loop.poll();
        CHECK(seen.lock()->waiting() == 1);
    }
    CHECK(seen.expired());
    CHECK_THROWS_AS(result.get(), std::future_error);
}

TEST_CASE("a stop reaches the bottom of deeply nested groups") {
    thread_pool pool(2);
    stop_state stop;
    gate never;
    struct nested {
        static coroutine<> level(gate& g, int n) {
            if (n == 0)
                co_await g.wait();
            else
                co_await when_all(level(g, n - 1));
        }
    };
    auto running = begin_on(pool.get_executor(), [&] { return nested::level(never, rounds(3000)); }, &stop);
    until([&] { return never.waiting() == 1; });
    stop.request_stop();
    CHECK_THROWS_AS(running.get(), operation_canceled);
}
