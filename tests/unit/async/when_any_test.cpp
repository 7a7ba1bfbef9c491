// when_any: who wins, what becomes of the others, and the stop from outside.
#include "../effort.hpp"
#include "run_coroutine.hpp"

#include <ekiden/async/sleep.hpp>
#include <ekiden/async/when_any.hpp>
#include <ekiden/execution/strand.hpp>
#include <ekiden/loop/loop_context.hpp>
#include <ekiden/pool/thread_pool.hpp>

#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace {

using namespace ekiden;
using namespace ekiden_test;
using namespace std::chrono_literals;

} // namespace

TEST_CASE("when_any of a pack gives the first result and its number") {
    thread_pool pool(2);
    gate never;
    gate go;
    auto running = begin_on(pool.get_executor(), [&]() -> coroutine<> {
        const auto text = [&]() -> coroutine<std::string> {
            co_await go.wait();
            co_return "text";
        };
        auto first = co_await when_any(number_behind(never, 1), text, wait_at(never));
        static_assert(std::is_same_v<decltype(first), std::variant<int, std::string, std::monostate>>);
        CHECK(first.index() == 1);
        CHECK(std::get<1>(first) == "text");
        CHECK(never.waiting() == 0);
    });
    until([&] { return never.waiting() == 2 && go.waiting() == 1; });
    go.open();
    running.get();
}

TEST_CASE("rule: when_any of a range gives number and value, and of none it is refused with a message") {
    thread_pool pool(2);
    gate never;
    gate go;
    auto running = begin_on(pool.get_executor(), [&]() -> coroutine<> {
        std::vector<coroutine<int>> all;
        for (int i = 0; i != 5; ++i) all.push_back(number_behind(i == 3 ? go : never, i * 10));
        const auto first = co_await when_any(std::move(all));
        CHECK(first.index == 3);
        CHECK(first.value == 30);
        std::vector<coroutine<>> nothings;
        nothings.push_back(wait_at(go));
        const auto one = co_await when_any(std::move(nothings));
        CHECK(one.index == 0);
    });
    until([&] { return never.waiting() == 4 && go.waiting() == 1; });
    go.open();
    running.get();
    std::vector<coroutine<>> none;
    try {
        (void)when_any(std::move(none));
        FAIL("accepted");
    } catch (const std::invalid_argument& error) {
        CHECK(std::string(error.what()).find("range is empty") != std::string::npos);
    }
}

TEST_CASE("when_any of a view leaves the callables to their container") {
    thread_pool pool(1);
    run_on(pool.get_executor(), []() -> coroutine<> {
        std::vector<std::function<coroutine<int>()>> callables(3, [] { return number(1); });
        for (int round = 0; round != 2; ++round) {
            CHECK((co_await when_any(std::span(callables))).value == 1);
            for (const auto& each : callables) CHECK(each != nullptr);
        }
    });
}

TEST_CASE("rule: the first child of when_any ready at once means that the others never start") {
    thread_pool pool(1);
    run_on(pool.get_executor(), []() -> coroutine<> {
        int begun = 0;
        const auto ready = [&]() -> coroutine<int> {
            ++begun;
            co_return 1;
        };
        const auto first = co_await when_any(ready, ready, ready);
        CHECK(begun == 1);
        CHECK(first.index() < 3);
    });
}

TEST_CASE("the order in which when_any looks at its children rotates") {
    thread_pool pool(1);
    run_on(pool.get_executor(), []() -> coroutine<> {
        std::array<int, 3> wins{};
        for (int i = 0; i != 30; ++i) {
            const auto first = co_await when_any(number(1), number(2), number(3));
            ++wins[first.index()];
        }
        CHECK(wins == std::array<int, 3>{10, 10, 10});
        std::array<int, 2> of_range{};
        for (int i = 0; i != 20; ++i) {
            std::vector<coroutine<int>> both;
            both.push_back(number(1));
            both.push_back(number(2));
            const auto first = co_await when_any(std::move(both));
            ++of_range[first.index];
        }
        CHECK(of_range == std::array<int, 2>{10, 10});
    });
}

TEST_CASE("rule: after when_any no loser's frame exists, and results of losers are destroyed") {
    thread_pool pool(2);
    std::atomic<int> alive{0};
    gate go;
    gate never;
    auto running = begin_on(pool.get_executor(), [&]() -> coroutine<> {
        const auto winning = [&]() -> coroutine<witness> {
            co_await go.wait();
            co_return witness(alive);
        };
        const auto losing = [&]() -> coroutine<witness> { // has a result all the same
            const witness local(alive);
            try {
                co_await never.wait();
            } catch (const operation_canceled&) {
            }
            co_return witness(alive);
        };
        const auto breaking = [&]() -> coroutine<witness> { // its exception goes nowhere
            witness local(alive);
            try {
                co_await never.wait();
            } catch (const operation_canceled&) {
            }
            if (never.waiting() != 1000) throw std::runtime_error("lost");
            co_return local;
        };
        {
            auto first = co_await when_any(losing, winning, breaking);
            CHECK(first.index() == 1);
            CHECK(alive == 1);
        }
        CHECK(alive == 0);
    });
    until([&] { return never.waiting() == 2 && go.waiting() == 1; });
    go.open();
    running.get();
}

TEST_CASE("if the first one throws, its exception comes out of when_any") {
    thread_pool pool(2);
    gate never;
    run_on(pool.get_executor(), [&]() -> coroutine<> {
        const auto failing = []() -> coroutine<> {
            co_await sleep_for(1ms);
            throw std::runtime_error("first");
        };
        bool is_out = false;
        try {
            co_await when_any(wait_at(never), failing);
        } catch (const std::runtime_error&) {
            is_out = true;
        }
        CHECK(is_out);
        struct throws_when_moved {
            throws_when_moved() = default;
            throws_when_moved(throws_when_moved&&) { throw 3; }
        };
        const auto nothing = []() -> coroutine<> { co_return; };
        const auto throwing = []() -> coroutine<int> {
            throw 4;
            co_return 1;
        };
        int thrown = 0;
        try {
            co_await when_any(throwing);
        } catch (int n) {
            thrown = n;
        }
        CHECK(thrown == 4);
        co_await when_any(nothing);
    });
}

TEST_CASE("a stop from outside ends all of when_any, and operation_canceled comes out") {
    thread_pool pool(2);
    stop_state stop;
    gate never;
    auto running = begin_on(
        pool.get_executor(), [&]() -> coroutine<> { co_await when_any(wait_at(never), wait_at(never)); },
        &stop);
    until([&] { return never.waiting() == 2; });
    stop.request_stop();
    CHECK_THROWS_AS(running.get(), operation_canceled);
}

TEST_CASE("rule: what one child was granted before the stop counts before the operation_canceled of others") {
    loop_context loop;
    stop_state stop;
    gate never;
    gate open;
    auto running = begin_on(
        loop.get_executor(),
        [&]() -> coroutine<int> {
            auto first = co_await when_any(wait_at(never), number_behind(open, 8), wait_at(never));
            const int* const got = std::get_if<1>(&first);
            co_return got != nullptr ? *got : 0;
        },
        &stop);
    loop.poll();
    stop.request_stop(); // the losers are queued first
    until([&] { return never.waiting() == 0; });
    open.open();
    loop.run();
    // The child at the open gate was stopped too: unless it had been let through.
    CHECK_THROWS_AS(running.get(), operation_canceled);

    stop_state again;
    gate granted;
    auto second = begin_on(
        loop.get_executor(),
        [&]() -> coroutine<int> {
            auto first = co_await when_any(wait_at(never), number_behind(granted, 8), wait_at(never));
            const int* const got = std::get_if<1>(&first);
            co_return got != nullptr ? *got : 0;
        },
        &again);
    loop.restart();
    loop.poll();
    granted.open(); // queued
    again.request_stop();
    loop.restart();
    loop.run();
    CHECK(second.get() == 8);
}

TEST_CASE("rule: when_any registers for the stop before it starts its first child") {
    thread_pool pool(2);
    stop_state stop;
    gate never;
    auto running = begin_on(
        pool.get_executor(),
        [&]() -> coroutine<> {
            const auto stopping = [&]() -> coroutine<> {
                stop.request_stop(); // while the group begins its members
                co_await never.wait();
            };
            co_await when_any(stopping, stopping, stopping);
        },
        &stop);
    CHECK_THROWS_AS(running.get(), operation_canceled);
}

TEST_CASE(
    "rule: when_any races itself: three children end on three threads while a stop comes from a fourth") {
    thread_pool pool(3);
    int with_result = 0;
    int with_stop = 0;
    for (int round = rounds(2000); round > 0; --round) {
        std::array<gate, 3> gates;
        stop_state stop;
        std::atomic<int> alive{0};
        auto running = begin_on(
            pool.get_executor(),
            [&]() -> coroutine<std::size_t> {
                const auto child = [&](gate& g) {
                    return [&]() -> coroutine<witness> {
                        const witness local(alive);
                        co_await g.wait();
                        co_return witness(alive);
                    };
                };
                auto one = child(gates[0]);
                auto two = child(gates[1]);
                auto three = child(gates[2]);
                std::size_t winner = 0;
                {
                    auto first = co_await when_any(one, two, three);
                    CHECK(alive == 1);
                    winner = first.index();
                }
                co_return winner;
            },
            &stop);
        std::thread opener([&] {
            gates[0].open();
            gates[1].open();
        });
        std::thread other([&] { gates[2].open(); });
        if (round % 3 != 0) stop.request_stop();
        opener.join();
        other.join();
        bool is_stopped = false;
        std::size_t winner = 0;
        try {
            winner = running.get();
        } catch (const operation_canceled&) {
            is_stopped = true;
        }
        ++(is_stopped ? with_stop : with_result);
        REQUIRE(winner < 3);
        REQUIRE(alive == 0);
    }
    CHECK(with_result > 0);
}

TEST_CASE("rule: each child's stop is delivered by its own executor") {
    thread_pool pool(2);
    gate never;
    auto on_strand = strand(pool.get_executor());
    auto running = begin_on(any_executor(on_strand), [&]() -> coroutine<bool> {
        bool is_home = false;
        const auto child = [&]() -> coroutine<> {
            try {
                co_await never.wait();
            } catch (const operation_canceled&) {
                is_home = on_strand.running_in_this_thread();
            }
        };
        const auto quick = []() -> coroutine<> { co_await sleep_for(1ms); };
        co_await when_any(child, quick);
        co_return is_home&& on_strand.running_in_this_thread();
    });
    CHECK(running.get());
}

TEST_CASE("rule: context destroyed with members of when_any that wait or are queued") {
    std::atomic<int> alive{0};
    gate never;
    gate open;
    future<void> result;
    {
        loop_context loop;
        result = begin_on(loop.get_executor(), [&]() -> coroutine<> {
            const witness outer(alive);
            const auto waiting = [&]() -> coroutine<> {
                const witness inner(alive);
                co_await never.wait();
            };
            const auto queued = [&]() -> coroutine<> {
                const witness inner(alive);
                co_await open.wait();
            };
            co_await when_any(waiting, queued, waiting);
        });
        loop.poll();
        CHECK(alive == 4);
        SUBCASE("one is queued") { open.open(); }
        SUBCASE("none is") {}
    }
    CHECK(alive == 0);
    CHECK(never.waiting() == 0);
    CHECK_THROWS_AS(result.get(), std::future_error);
}
