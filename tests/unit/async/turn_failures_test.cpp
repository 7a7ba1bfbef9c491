// Turns without memory, with an inner executor that throws, and in the child of a fork.
#include "../child_process.hpp"
#include "../effort.hpp"
#include "../execution/failing_executor.hpp"
#include "../failing_allocations.hpp"
#include "run_coroutine.hpp"
#include "turn_support.hpp"
#include <tests/unit/posix.hpp>

#include <ekiden/async/sleep.hpp>
#include <ekiden/async/sync_wait.hpp>
#include <ekiden/async/yield.hpp>
#include <ekiden/loop/loop_context.hpp>
#include <ekiden/pool/thread_pool.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <memory>
#include <new>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

using namespace ekiden;
using namespace std::chrono_literals;
using ekiden_test::bank;
using ekiden_test::code_of;
using ekiden_test::failing_executor;
using ekiden_test::holder;
using ekiden_test::is_settled;
using ekiden_test::run_in_child;
using ekiden_test::until;

namespace {

[[noreturn]] void leave_child(int code) {
#if defined(EKIDEN_ASAN)
    std::_Exit(code); // a leak checker would find what was lost by the fork
#else
    std::exit(code);
#endif
}

} // namespace

// ---- memory

#if !defined(EKIDEN_TSAN)
TEST_CASE("a turn for which there is no memory leaves nothing in the lanes, whichever allocation fails") {
    for (const std::size_t capacity : {0U, 4U}) {
        for (const int keys : {1, 4, 70}) {
            CAPTURE(capacity);
            CAPTURE(keys);
            thread_pool pool(1);
            const bank l(pool.get_executor(),
                         {.lane_capacity = capacity, .policy = when_full::block, .shards = 8});
            std::vector<int> all(static_cast<std::size_t>(keys));
            std::iota(all.begin(), all.end(), 0);
            std::atomic<int> alive = 0;
            int spawned = 0;
            int awaited = 0;
            for (long n = 0; spawned == 0 || awaited == 0; ++n) {
                REQUIRE(n < 1000);
                const auto f = [w = ekiden_test::witness(alive)]() -> coroutine<int> { co_return 1; };
                future<int> done;
                try {
                    const ekiden_test::failing_allocation fails(n);
                    done = spawn_in_turn(l, l.keys().write_all(all), f, use_future);
                } catch (const std::bad_alloc&) {
                    CHECK(!done.valid());
                }
                if (done.valid()) spawned += done.get();
                sync_wait(pool.get_executor(), [&]() -> coroutine<> {
                    // All memory that the coroutine itself needs has been allocated.
                    std::optional<ekiden_test::failing_allocation> fails(n);
                    try {
                        const auto turn = co_await async_turn_for(l, l.keys().write_all(all), 1h);
                        if (turn) ++awaited;
                    } catch (const std::bad_alloc&) {
                    }
                    fails.reset();
                });
                until([&] { return l.active() == 0; });
                CHECK(alive == 1); // f
            }
            pool.wait_idle();
            CHECK(is_settled(l));
        }
    }
}
#endif

// ---- the inner executor throws

TEST_CASE("if the inner executor throws, spawn_in_turn() throws, and the request is in no lane") {
    thread_pool pool(2);
    std::atomic<bool> is_failing = false;
    const lanes<int, failing_executor> l(failing_executor(pool.get_executor(), is_failing));
    std::atomic<int> alive = 0;
    const auto f = [w = ekiden_test::witness(alive)]() -> coroutine<> { co_return; };
    is_failing = true;
    CHECK_THROWS_AS(spawn_in_turn(l, {1, 2}, f), std::runtime_error);
    sync_wait(pool.get_executor(), [&]() -> coroutine<> {
        bool has_thrown = false;
        try {
            const auto turn = co_await async_turn(l, l.keys().write(1, 2));
        } catch (const std::runtime_error&) {
            has_thrown = true;
        }
        CHECK(has_thrown);
        has_thrown = false;
        try {
            const auto turn = co_await async_turn(l, l.keys());
        } catch (const std::runtime_error&) {
            has_thrown = true;
        }
        CHECK(!has_thrown); // a turn without a key needs no executor
    });
    CHECK(alive == 1);
    CHECK(l.active() == 0);
    is_failing = false;
    spawn_in_turn(l, {1, 2}, f, use_future).get();
    until([&] { return l.active() == 0; });
}

TEST_CASE("if the inner executor throws when a turn ends, the requests behind it are dropped or run") {
    std::atomic<int> reports = 0;
    thread_pool pool(
        {.threads = 2, .on_unhandled_exception = [&](std::exception_ptr, std::string_view) { ++reports; }});
    std::atomic<bool> is_failing = false;
    const lanes<int, failing_executor> l(failing_executor(pool.get_executor(), is_failing));
    for (int i = 0; i != ekiden_test::rounds(200); ++i) {
        std::atomic<int> alive = 0;
        {
            sync_wait(pool.get_executor(), [&]() -> coroutine<> {
                const auto turn = co_await async_turn(l, l.keys().write(1, 2));
                for (int n = 0; n != 5; ++n) {
                    CHECK(l.post({1, 2}, [w = ekiden_test::witness(alive)] {}));
                    CHECK(l.post(1 + n % 2, [w = ekiden_test::witness(alive)] {}));
                }
                is_failing = true;
            });
            is_failing = false;
        }
        until([&] { return l.active() == 0; });
        until([&] { return alive == 0; });
    }
    CHECK(is_settled(l));
}

// ---- pauses

TEST_CASE("while the pool is paused, no turn begins, and a turn that lasts may end") {
    thread_pool pool(2);
    loop_context loop; // coroutines here run during the pause
    const bank l(pool.get_executor());
    int phase = 0;
    event may_end;
    co_spawn(loop, [&]() -> coroutine<> {
        auto turn = co_await async_turn(l, l.keys().write(1, 2));
        phase = 1;
        co_await async_wait(may_end);
        turn.end();
        phase = 2;
        const auto second = co_await async_turn(l, l.keys().write(1, 2));
        phase = 3;
    });
    const auto runs = [&] {
        loop.restart();
        loop.poll();
    };
    until([&] {
        runs();
        return phase == 1;
    });
    std::atomic<bool> has_run = false;
    CHECK(l.post(1, [&] { has_run = true; }));
    pool.pause();
    may_end.set();
    runs();
    CHECK(phase == 2);
    std::this_thread::sleep_for(1ms);
    runs();
    CHECK(phase == 2);
    CHECK(!has_run);
    pool.resume();
    until([&] {
        runs();
        return phase == 3;
    });
    CHECK(has_run);
    pool.wait_idle();
    CHECK(is_settled(l));
}

TEST_CASE("join of a pool waits for its turns, and after a stop a turn is refused") {
    thread_pool pool(2);
    const bank l(pool.get_executor());
    std::atomic<int> ended = 0;
    for (int i = 0; i != 20; ++i) {
        spawn_in_turn(l, {1, 2 + i % 3}, [&]() -> coroutine<> {
            co_await sleep_for(10us);
            ++ended;
        });
    }
    pool.join();
    CHECK(ended == 20);
    CHECK(is_settled(l));
    pool.stop();
    loop_context loop;
    auto refused =
        co_spawn(loop, [&]() -> coroutine<> { const auto turn = co_await async_turn(l, 1); }, use_future);
    loop.run();
    CHECK(code_of([&] { refused.get(); }) == std::errc::operation_canceled);
    auto limited = co_spawn(
        loop, [&]() -> coroutine<> { const auto turn = co_await async_turn_for(l, 1, 1h); }, use_future);
    loop.restart();
    loop.run();
    CHECK(code_of([&] { limited.get(); }) == std::errc::operation_canceled);
    auto spawned = spawn_in_turn(l, {1, 2}, []() -> coroutine<> { co_return; }, use_future);
    CHECK(code_of([&] { spawned.get(); }) == std::errc::operation_canceled);
    CHECK(l.active() == 0);
}

// ---- fork

TEST_CASE("in the child of a fork turns of the parent end, turns are refused, and the child does not hang") {
    EKIDEN_SKIP_ON_WINDOWS("there is no fork()");
    auto pool = std::make_unique<thread_pool>(2);
    auto loop = std::make_unique<loop_context>();
    auto l = std::make_unique<bank>(pool->get_executor());
    lane_turn kept;
    co_spawn(*loop, [&]() -> coroutine<> { kept = co_await async_turn(*l, l->keys().write(1, 2)); });
    while (!kept.has_lanes()) loop->restart(), loop->poll();
    co_spawn(*loop,
             [&]() -> coroutine<> { const auto waits = co_await async_turn(*l, l->keys().write(2, 3)); });
    loop->restart();
    loop->poll();
    pool->wait_idle();
    const auto by_end = run_in_child([&] {
        kept.end();
        leave_child(kept.has_lanes() ? 1 : 7);
    });
    CHECK(by_end.exit_code == 7);
    const auto by_destructor = run_in_child([&] {
        loop.reset();
        {
            const lane_turn gone = std::move(kept);
        }
        l.reset();
        pool.reset();
        leave_child(8);
    });
    CHECK(by_destructor.exit_code == 8);
    const auto by_use = run_in_child([&] {
        const auto refused = code_of([&] { (void)async_turn(*l, 5); });
        const auto spawned = code_of([&] { spawn_in_turn(*l, {5, 6}, []() -> coroutine<> { co_return; }); });
        const auto expected = make_error_code(std::errc::operation_not_permitted);
        // Lanes of the child itself work.
        loop_context own;
        const bank fresh(own.get_executor());
        bool has_run = false;
        spawn_in_turn(fresh, {1, 2}, [&]() -> coroutine<> {
            has_run = true;
            co_return;
        });
        own.run();
        leave_child(refused == expected && spawned == expected && has_run ? 9 : 1);
    });
    CHECK(by_use.exit_code == 9);
    CHECK(kept.has_lanes());
    kept.end();
    until([&] {
        loop->restart();
        loop->poll();
        return l->active() == 0;
    });
    CHECK(is_settled(*l));
}
