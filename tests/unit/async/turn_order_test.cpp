// The order of turns, spawned requests and posts, and the keys of turns.
#include "../effort.hpp"
#include "run_coroutine.hpp"
#include "turn_support.hpp"

#include <ekiden/async/async_event.hpp>
#include <ekiden/async/async_scope.hpp>
#include <ekiden/async/sleep.hpp>
#include <ekiden/async/spawn_options.hpp>
#include <ekiden/async/sync_wait.hpp>
#include <ekiden/async/yield.hpp>
#include <ekiden/execution/any_executor.hpp>
#include <ekiden/execution/inline_executor.hpp>
#include <ekiden/execution/strand.hpp>
#include <ekiden/loop/loop_context.hpp>
#include <ekiden/pool/thread_pool.hpp>
#include <ekiden/sim/sim_context.hpp>
#include <ekiden/sync/event.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <numeric>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

using namespace ekiden;
using namespace std::chrono_literals;
using ekiden_test::bank;
using ekiden_test::code_of;
using ekiden_test::holder;
using ekiden_test::is_settled;
using ekiden_test::until;

namespace {

/// Spawns and posts `count` requests with key 1 in turn. Each appends its number, and the coroutines also
/// await. Then calls `run`, and returns whether the numbers are in the order of the calls.
template <class Lanes, class Run>
bool runs_in_order(const Lanes& l, int count, Run run) {
    std::vector<int> order;
    for (int i = 0; i != count; ++i) {
        if (i % 3 == 0) {
            if (!l.post(1, [&order, i] { order.push_back(i); })) return false;
        } else if (i % 3 == 1) {
            spawn_in_turn(l, 1, [&order, i]() -> coroutine<> {
                co_await yield();
                order.push_back(i);
                co_await sleep_for(1us);
            });
        } else {
            spawn_in_turn(l, {1, 2 + i % 5}, [&order, i]() -> coroutine<> {
                order.push_back(i);
                co_await yield();
            });
        }
    }
    run();
    std::vector<int> expected(static_cast<std::size_t>(count));
    std::iota(expected.begin(), expected.end(), 0);
    return order == expected && is_settled(l);
}

/// Waits until the lanes are settled.
template <class Lanes>
void wait_for(const Lanes& l) {
    until([&] { return is_settled(l); });
}

} // namespace

TEST_CASE("calls of spawn_in_turn() and post() from one thread have one order, on every inner executor") {
    const int count = ekiden_test::rounds(300);
    SUBCASE("a pool") {
        thread_pool pool(2);
        const lanes<int, thread_pool::executor_type> l(pool.get_executor());
        CHECK(runs_in_order(l, count, [&] { pool.wait_idle(), wait_for(l); }));
    }
    SUBCASE("a pool, erased") {
        thread_pool pool(2);
        const bank l(pool.get_executor());
        CHECK(runs_in_order(l, count, [&] { wait_for(l); }));
    }
    SUBCASE("a loop") {
        loop_context loop;
        const lanes<int, loop_context::executor_type> l(loop.get_executor());
        CHECK(runs_in_order(l, count, [&] { loop.run(); }));
    }
    SUBCASE("a strand") {
        thread_pool pool(2);
        const strand inner(pool.get_executor());
        const bank l{any_executor(inner)};
        CHECK(runs_in_order(l, count, [&] { wait_for(l); }));
    }
    SUBCASE("a lane of other lanes") {
        thread_pool pool(2);
        const bank outer(pool.get_executor());
        const bank l{any_executor(outer.get_executor(7))};
        CHECK(runs_in_order(l, count, [&] { wait_for(l); }));
        pool.wait_idle();
    }
    SUBCASE("an inline executor") {
        const lanes<int, inline_executor> l{inline_executor()};
        CHECK(runs_in_order(l, count, [&] { wait_for(l); }));
    }
    SUBCASE("a simulation") {
        sim_context sim(3);
        const lanes<int, sim_context::executor_type> l(sim.get_executor());
        CHECK(runs_in_order(l, count, [&] { sim.run(); }));
    }
}

TEST_CASE("with a capacity, calls of spawn_in_turn() and post() have one order, too") {
    thread_pool pool(2);
    const bank l(pool.get_executor(), {.lane_capacity = 3, .policy = when_full::block});
    CHECK(runs_in_order(l, ekiden_test::rounds(300), [&] { wait_for(l); }));
}

TEST_CASE("turns of one key run one at a time, in the order in which they were awaited") {
    thread_pool pool(2);
    const bank l(pool.get_executor());
    loop_context loop;
    std::vector<int> order;
    for (int i = 0; i != 50; ++i) {
        co_spawn(loop, [&, i]() -> coroutine<> {
            const auto turn = co_await async_turn(l, l.keys().write(1).read(2, 3));
            co_await yield();
            order.push_back(i);
        });
    }
    loop.run();
    CHECK(std::is_sorted(order.begin(), order.end()));
    CHECK(order.size() == 50);
}

TEST_CASE("turns that only read a key last side by side, and a writer is not overtaken") {
    thread_pool pool(2);
    const bank l(pool.get_executor());
    loop_context loop;
    event opened;
    int reading = 0;
    int most = 0;
    bool has_written = false;
    const auto read = [&](bool is_late) -> coroutine<> {
        const auto turn = co_await async_turn(l, l.keys().read(1));
        CHECK(has_written == is_late);
        most = std::max(most, ++reading);
        co_await async_wait(opened);
        --reading;
    };
    const auto write = [&]() -> coroutine<> {
        const auto turn = co_await async_turn(l, 1);
        CHECK(reading == 0);
        CHECK(!has_written);
        co_await yield();
        has_written = true;
    };
    for (int i = 0; i != 5; ++i) co_spawn(loop, [&] { return read(false); });
    co_spawn(loop, write);
    for (int i = 0; i != 3; ++i) co_spawn(loop, [&] { return read(true); });
    while (reading != 5) loop.poll(), loop.restart();
    pool.wait_idle();
    loop.poll();
    CHECK(reading == 5);
    CHECK(!has_written);
    opened.set();
    loop.restart();
    loop.run();
    CHECK(has_written);
    CHECK(most == 5);
    pool.wait_idle();
    CHECK(is_settled(l));
}

TEST_CASE("a withdrawn writer lets the readers behind it join the readers in front of it") {
    thread_pool pool(2);
    const bank l(pool.get_executor());
    holder first;
    auto held = spawn_in_turn(l, l.keys().read(1), first.hold(), use_future);
    first.begun.wait();
    std::stop_source stop;
    auto writer = spawn_in_turn(
        l, 1, []() -> coroutine<> { co_return; }, use_future, spawn_options().stop(stop.get_token()));
    holder second;
    auto behind = spawn_in_turn(l, l.keys().read(1), second.hold(), use_future);
    pool.wait_idle();
    CHECK(!second.begun.is_set());
    stop.request_stop();
    second.begun.wait(); // while the first reader still reads
    CHECK(code_of([&] { writer.get(); }) == std::errc::operation_canceled);
    first.opened.set();
    second.opened.set();
    held.get();
    behind.get();
}

TEST_CASE("a turn without a key begins at once, in lanes with a capacity, too") {
    for (const std::size_t capacity : {0U, 1U}) {
        thread_pool pool(2);
        const bank l(pool.get_executor(), {.lane_capacity = capacity});
        sync_wait(pool.get_executor(), [&]() -> coroutine<> {
            auto turn = co_await async_turn(l, l.keys());
            CHECK(turn.has_lanes());
            turn.end();
            CHECK(!turn.has_lanes());
            const auto limited = co_await async_turn_for(l, l.keys(), 1h);
            CHECK(limited->has_lanes());
        });
        CHECK(spawn_in_turn(l, {}, []() -> coroutine<int> { co_return 3; }, use_future).get() == 3);
        CHECK(l.active() == 0);
    }
}

TEST_CASE("a turn may have many keys, and gives all of them back, begun or withdrawn") {
    for (const std::size_t capacity : {0U, 4U}) {
        thread_pool pool(2);
        const bank l(pool.get_executor(), {.lane_capacity = capacity, .shards = 8});
        for (const int count : {1, 4, 5, 20, 70, 1024}) {
            CAPTURE(count);
            std::vector<int> keys(static_cast<std::size_t>(count));
            std::iota(keys.begin(), keys.end(), 0);
            holder h;
            auto held = spawn_in_turn(l, l.keys().write_all(keys), h.hold(), use_future);
            h.begun.wait();
            CHECK(l.active() == keys.size());
            std::atomic<int> runs = 0;
            sync_wait(pool.get_executor(), [&]() -> coroutine<> {
                const auto late = co_await async_turn_for(l, l.keys().read_all(keys), 1ms);
                CHECK(!late);
            });
            for (const int key : {0, count / 2, count - 1}) CHECK(l.post(key, [&] { ++runs; }));
            CHECK(runs == 0);
            h.opened.set();
            held.get();
            until([&] { return runs == 3; });
            until([&] { return l.active() == 0; });
        }
        std::vector<int> too_many(1025);
        std::iota(too_many.begin(), too_many.end(), 0);
        CHECK_THROWS_AS(spawn_in_turn(l, l.keys().write_all(too_many), []() -> coroutine<> { co_return; }),
                        std::invalid_argument);
        CHECK(l.active() == 0);
    }
}

TEST_CASE("in a turn a key that occurs twice counts once, and a key that is read and written is written") {
    thread_pool pool(2);
    const bank l(pool.get_executor());
    holder h;
    auto held = spawn_in_turn(l, l.keys().read(1, 2).write(1, 1).read(1, 2), h.hold(), use_future);
    h.begun.wait();
    CHECK(l.active() == 2);
    std::atomic<int> runs = 0;
    CHECK(l.post(l.keys().read(1), [&] { ++runs; }));
    event has_read;
    CHECK(l.post(l.keys().read(2), [&] { has_read.set(); }));
    has_read.wait(); // key 2 is only read
    CHECK(runs == 0);
    h.opened.set();
    held.get();
    pool.wait_idle();
    CHECK(runs == 1);
    auto twice = spawn_in_turn(l, {3, 3, 3}, []() -> coroutine<> { co_return; }, use_future);
    twice.get();
    until([&] { return is_settled(l); });
}

TEST_CASE("a list of keys of other lanes is refused, and the callable is not copied") {
    thread_pool pool(1);
    const bank l(pool.get_executor());
    const bank other(pool.get_executor());
    std::atomic<int> alive = 0;
    const auto f = [w = ekiden_test::witness(alive)]() -> coroutine<> { co_return; };
    CHECK_THROWS_AS(spawn_in_turn(l, other.keys().write(1), f), std::invalid_argument);
    CHECK_THROWS_AS((void)async_turn(l, other.keys().write(1)), std::invalid_argument);
    CHECK(alive == 1);
    CHECK(l.active() == 0);
}

TEST_CASE("a handle of a lane can take the place of a key of a turn") {
    thread_pool pool(2);
    const bank l(pool.get_executor());
    const auto first = l.lane(1);
    std::atomic<int> runs = 0;
    sync_wait(pool.get_executor(), [&]() -> coroutine<> {
        {
            const auto turn = co_await async_turn(l, first);
            CHECK(l.post(1, [&] { ++runs; }));
            const auto late = co_await async_turn_for(bank(pool.get_executor()), 1, std::chrono::seconds(9));
            CHECK(late->has_lanes());
            CHECK(runs == 0);
        }
        const auto both = co_await async_turn(l, l.keys().write(first).read(2), wait_limit());
        CHECK(both->has_lanes());
        CHECK(runs == 1);
    });
    auto done = spawn_in_turn(
        l, first,
        [&]() -> coroutine<> {
            CHECK(l.post(first, [&] { ++runs; }));
            co_await yield();
            CHECK(runs == 1);
        },
        use_future);
    done.get();
    pool.wait_idle();
    CHECK(runs == 2);
}

TEST_CASE("a turn by handle is withdrawn like a turn by key, also if its handles are destroyed meanwhile") {
    thread_pool pool(2);
    const bank l(pool.get_executor());
    std::atomic<int> runs = 0;
    for (int n = 0; n != 500; ++n) {
        std::stop_source stop;
        const auto held = l.lane(2);
        event opened;
        auto holding =
            spawn_in_turn(l, held, [&]() -> coroutine<> { co_await async_wait(opened); }, use_future);
        auto first = std::make_optional(l.lane(1));
        auto gone = spawn_in_turn(
            l, l.keys().write(*first).read(held), []() -> coroutine<> { co_return; }, use_future,
            spawn_options().stop(stop.get_token()));
        CHECK(l.post(*first, [&runs] { ++runs; }));
        if (n % 2 == 0) first.reset(); // the request is in the inbox or in its lanes
        if (n % 3 == 0) l.wait_idle(5);
        stop.request_stop();
        CHECK_THROWS_AS(gone.get(), operation_canceled);
        l.wait_idle(1);
        CHECK(runs == n + 1);
        opened.set();
        holding.get();
    }
    pool.wait_idle();
    CHECK(l.active() == 0);
    const auto counts = l.metrics();
    CHECK(counts.posted == counts.run + counts.dropped);
}
