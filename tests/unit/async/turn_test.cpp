// Turns: coroutines that keep their lanes while they await.
#include "run_coroutine.hpp"
#include "turn_support.hpp"

#include <ekiden/async/async_event.hpp>
#include <ekiden/async/async_turn.hpp>
#include <ekiden/async/resume_on.hpp>
#include <ekiden/async/sleep.hpp>
#include <ekiden/async/sync_wait.hpp>
#include <ekiden/async/when_all.hpp>
#include <ekiden/async/yield.hpp>
#include <ekiden/future/promise.hpp>
#include <ekiden/pool/thread_pool.hpp>
#include <ekiden/sync/event.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <exception>
#include <stop_token>
#include <system_error>
#include <utility>

using namespace ekiden;
using namespace std::chrono_literals;
using ekiden_test::bank;
using ekiden_test::code_of;
using ekiden_test::holder;

TEST_CASE("a spawned request keeps its lanes across its awaits, and other keys run meanwhile") {
    thread_pool pool(2);
    const bank accounts(pool.get_executor());
    holder h;
    bool has_ended = false; // data of the keys 1 and 2
    auto done = spawn_in_turn(
        accounts, {1, 2},
        [&]() -> coroutine<int> {
            h.begun.set();
            co_await async_wait(h.opened);
            has_ended = true;
            co_return 7;
        },
        use_future);
    h.begun.wait();
    std::atomic<int> runs = 0;
    std::atomic<int> early = 0;
    const auto later = [&] {
        ++runs;
        if (!has_ended) ++early;
    };
    CHECK(accounts.post(2, later));
    CHECK(accounts.post({1, 3}, later));
    event other;
    CHECK(accounts.post(4, [&] { other.set(); }));
    other.wait();
    CHECK(runs == 0);
    h.opened.set();
    CHECK(done.get() == 7);
    pool.wait_idle();
    CHECK(runs == 2);
    CHECK(early == 0);
}

TEST_CASE("a turn in a coroutine lasts until its guard is destroyed, moved or not, or ended") {
    thread_pool pool(2);
    const bank accounts(pool.get_executor());
    std::atomic<int> runs = 0;
    sync_wait(pool.get_executor(), [&]() -> coroutine<> {
        for (int i = 0; i != 3; ++i) {
            auto turn = co_await async_turn(accounts, accounts.keys().write(1, 2));
            CHECK(turn.has_lanes());
            CHECK(accounts.post(1, [&] { ++runs; }));
            CHECK(accounts.post({2, 5}, [&] { ++runs; }));
            event other;
            CHECK(accounts.post(3, [&] { other.set(); }));
            co_await async_wait(other);
            co_await sleep_for(1ms);
            CHECK(runs == 2 * i);
            lane_turn moved(std::move(turn));
            CHECK(!turn.has_lanes()); // NOLINT: the state after a move is promised
            if (i == 1) moved.end();
            if (i == 2) moved = lane_turn();
            moved.end();
            accounts.wait_idle(1);
            accounts.wait_idle(2);
            CHECK(runs == 2 * i + 2);
        }
    });
    CHECK(accounts.active() == 0);
}

TEST_CASE("a withdrawn turn leaves no trace: later requests do not wait for it") {
    thread_pool pool(2);
    const bank accounts(pool.get_executor());
    holder h;
    auto held = spawn_in_turn(accounts, 2, h.hold(), use_future);
    h.begun.wait();
    std::stop_source stop;
    // This request gets lane 1 and waits for lane 2.
    auto gone = spawn_in_turn(
        accounts, {1, 2}, []() -> coroutine<> { co_return; }, use_future,
        spawn_options().stop(stop.get_token()));
    event behind;
    CHECK(accounts.post(1, [&] { behind.set(); }));
    CHECK(!behind.wait_for(2ms));
    stop.request_stop();
    behind.wait();
    CHECK(code_of([&] { gone.get(); }) == std::errc::operation_canceled);
    h.opened.set();
    held.get();
    event later;
    CHECK(accounts.post(2, [&] { later.set(); }));
    later.wait();
    pool.wait_idle();
    CHECK(accounts.active() == 0);
}

TEST_CASE("a wait for a turn ends at its limit") {
    thread_pool pool(2);
    const bank accounts(pool.get_executor());
    holder h;
    auto held = spawn_in_turn(accounts, 2, h.hold(), use_future);
    h.begun.wait();
    sync_wait(pool.get_executor(), [&]() -> coroutine<> {
        const auto late = co_await async_turn(accounts, accounts.keys().write(1, 2), wait_duration(1ms));
        CHECK(!late);
        const auto late_too = co_await async_turn_for(accounts, accounts.keys().read(2), 1ms);
        CHECK(!late_too);
        const auto free = co_await async_turn_until(accounts, accounts.keys().write(1),
                                                    std::chrono::steady_clock::now() + 1h);
        CHECK(free->has_lanes());
    });
    h.opened.set();
    held.get();
}

TEST_CASE("a second turn in the same lanes, and a move to a lane of them, throw") {
    thread_pool pool(2);
    const bank accounts(pool.get_executor());
    const bank others(pool.get_executor());
    const auto would_deadlock = make_error_code(std::errc::resource_deadlock_would_occur);
    const auto lane = accounts.get_executor(9);
    sync_wait(pool.get_executor(), [&]() -> coroutine<> {
        const auto refused = [&]() -> coroutine<> {
            std::error_code code;
            try {
                const auto second = co_await async_turn(accounts, 2);
            } catch (const std::system_error& error) {
                code = error.code();
            }
            CHECK(code == would_deadlock);
            code = {};
            try {
                co_await resume_on(lane);
            } catch (const std::system_error& error) {
                code = error.code();
            }
            CHECK(code == would_deadlock);
            code = {};
            try {
                const any_executor erased(lane);
                co_await resume_on(erased);
            } catch (const std::system_error& error) {
                code = error.code();
            }
            CHECK(code == would_deadlock);
        };
        {
            const auto first = co_await async_turn(accounts, 1);
            co_await refused();
            co_await when_all(refused, refused);
            const auto elsewhere = co_await async_turn(others, 1);
            co_await refused();
        }
        const auto second = co_await async_turn(accounts, 2); // the first turn has ended
    });
    sync_wait(pool.get_executor(), [&]() -> coroutine<> {
        co_await resume_on(lane);
        std::error_code code;
        try {
            const auto inside = co_await async_turn(accounts, 1);
        } catch (const std::system_error& error) {
            code = error.code();
        }
        CHECK(code == would_deadlock);
    });
    spawn_in_turn(accounts, 1, [&]() -> coroutine<> {
        std::error_code code;
        try {
            const auto inside = co_await async_turn(accounts, 2);
        } catch (const std::system_error& error) {
            code = error.code();
        }
        CHECK(code == would_deadlock);
    });
    pool.wait_idle();
    pool.join();
}

TEST_CASE("a request that the lanes refuse or abandon is dropped before it begins") {
    thread_pool pool(2);
    const bank accounts(pool.get_executor(), {.lane_capacity = 1});
    holder h;
    auto held = spawn_in_turn(accounts, 1, h.hold(), use_future);
    h.begun.wait();
    std::atomic<int> alive = 0;
    bool has_run = false;
    const auto never = [&, w = ekiden_test::witness(alive)]() -> coroutine<> {
        has_run = true;
        co_return;
    };
    auto waiting = spawn_in_turn(accounts, {1, 2}, never, use_future);
    auto refused = spawn_in_turn(accounts, 1, never, use_future);
    promise<std::exception_ptr> told;
    auto failure = told.get_future();
    // The handler moves the exception. ThreadSanitizer does not see how libstdc++ counts the copies of one.
    spawn_in_turn(accounts, 1, never,
                  [&told](std::exception_ptr error) { told.set_value(std::move(error)); });
    CHECK(code_of([&] { std::rethrow_exception(failure.get()); }) == std::errc::operation_canceled);
    spawn_in_turn(accounts, 1, never); // no report is made
    CHECK(code_of([&] { refused.get(); }) == std::errc::operation_canceled);
    CHECK(accounts.close(1) == 1);
    CHECK(code_of([&] { waiting.get(); }) == std::errc::operation_canceled);
    sync_wait(pool.get_executor(), [&]() -> coroutine<> {
        std::error_code code;
        try {
            const auto turn = co_await async_turn(accounts, 1); // the lane is closed until the turn ends
        } catch (const operation_canceled& error) {
            code = error.code();
        }
        CHECK(code == std::errc::operation_canceled);
    });
    h.opened.set();
    held.get();
    pool.wait_idle();
    CHECK(!has_run);
    CHECK(alive == 1); // the lambda of this test
}

TEST_CASE("a post to a full lane does not wait for room that only the end of the own turn gives") {
    thread_pool pool(1);
    const bank accounts(pool.get_executor(), {.lane_capacity = 1, .policy = when_full::block});
    int runs = 0;
    spawn_in_turn(accounts, 1, [&]() -> coroutine<> {
        for (int i = 0; i != 3; ++i) CHECK(accounts.post(1, [&] { ++runs; }));
        co_await yield();
        // A function that runs on top of the coroutine does not wait either.
        CHECK(pool.submit([&] { return accounts.post({1, 2}, [&] { ++runs; }); }).get());
        co_return;
    });
    pool.join();
    CHECK(runs == 4);
    CHECK(accounts.metrics().beyond == 3);
}
