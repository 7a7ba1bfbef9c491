// How turns end: by results, exceptions, stops, deadlines, destroyed coroutines, and without memory.
#include "../child_process.hpp"
#include "../effort.hpp"
#include "../execution/failing_executor.hpp"
#include "../failing_allocations.hpp"
#include "run_coroutine.hpp"
#include "turn_support.hpp"
#include <tests/unit/posix.hpp>

#include <ekiden/async/async_scope.hpp>
#include <ekiden/async/await_future.hpp>
#include <ekiden/async/sleep.hpp>
#include <ekiden/async/sync_wait.hpp>
#include <ekiden/async/when_any.hpp>
#include <ekiden/async/with_deadline.hpp>
#include <ekiden/async/yield.hpp>
#include <ekiden/loop/loop_context.hpp>
#include <ekiden/pool/thread_pool.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <coroutine>
#include <cstdlib>
#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>
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
using ekiden_test::until;

// ---- results

TEST_CASE("the future and the completion handler get the result after the turn, and after the callable") {
    thread_pool pool(2);
    const bank l(pool.get_executor());
    auto owned = std::make_shared<int>(5); // not const, so that the callable can be moved
    const auto f = [owned]() -> coroutine<int> {
        co_await yield();
        co_return *owned;
    };
    for (int i = 0; i != ekiden_test::rounds(500); ++i) {
        event has_result;
        spawn_in_turn(l, {1, 2}, f, [&](std::exception_ptr error, int result) {
            CHECK(!error);
            CHECK(result == 5);
            CHECK(owned.use_count() == 2);
            CHECK(l.active() == 0);
            has_result.set();
        });
        has_result.wait();
        auto done = spawn_in_turn(l, {1, 2}, f, use_future);
        CHECK(done.get() == 5);
        CHECK(owned.use_count() == 2);
        CHECK(l.active() == 0);
    }
}

TEST_CASE("an exception of a spawned request leaves by its future, and ends the turn before") {
    thread_pool pool(2);
    const bank l(pool.get_executor());
    std::atomic<int> alive = 0;
    for (const bool is_early : {false, true}) {
        auto failed = spawn_in_turn(
            l, {1, 2},
            [is_early, w = ekiden_test::witness(alive)]() -> coroutine<> {
                if (!is_early) co_await yield();
                throw std::runtime_error("no");
            },
            use_future);
        CHECK_THROWS_AS(failed.get(), std::runtime_error);
        CHECK(l.active() == 0);
        CHECK(alive == 0);
    }
    auto not_made = spawn_in_turn(
        l, 1, []() -> coroutine<> { throw std::logic_error("before the coroutine"); }, use_future);
    CHECK_THROWS_AS(not_made.get(), std::logic_error);
    // A callable that is no coroutine itself.
    auto not_called = spawn_in_turn(
        l, 1, [](bool fails = true) { return fails ? throw std::logic_error("no") : ekiden_test::number(1); },
        use_future);
    CHECK_THROWS_AS(not_called.get(), std::logic_error);
    CHECK(l.active() == 0);
}

TEST_CASE("a callable whose copy throws is spawned in no lane") {
    struct throws_at_copy {
        throws_at_copy() = default;
        throws_at_copy(const throws_at_copy&) { throw std::runtime_error("no copy"); }
        throws_at_copy(throws_at_copy&&) noexcept = default;
        coroutine<> operator()() const { co_return; }
    };
    thread_pool pool(1);
    const bank l(pool.get_executor());
    const throws_at_copy f;
    CHECK_THROWS_AS(spawn_in_turn(l, {1, 2}, f), std::runtime_error);
    CHECK(l.active() == 0);
    CHECK(l.metrics().posted == 0);
}

// ---- guards

TEST_CASE("a turn may be given to itself, to another turn and to another thread") {
    thread_pool pool(2);
    const bank l(pool.get_executor());
    const bank m(pool.get_executor());
    sync_wait(pool.get_executor(), [&]() -> coroutine<> {
        auto turn = co_await async_turn(l, 1);
        auto& same = turn;
        turn = std::move(same);
        CHECK(turn.has_lanes());
        auto other = co_await async_turn(m, 1);
        turn = std::move(other); // ends the turn in l
        CHECK(turn.has_lanes());
        CHECK(!other.has_lanes()); // NOLINT: the state after a move is promised
        l.wait_idle(1);
        CHECK(m.active() == 1);
        std::thread([given = std::move(turn)]() mutable { given.end(); }).join();
        m.wait_idle(1);
        lane_turn none;
        none.end();
        turn = std::move(none);
        CHECK(!turn.has_lanes());
    });
}

TEST_CASE("turns may end in other threads while requests are withdrawn") {
    thread_pool pool(2);
    const bank l(pool.get_executor(), {.shards = 4});
    for (int i = 0; i != ekiden_test::rounds(300); ++i) {
        std::stop_source stop;
        std::atomic<int> left = 3;
        std::vector<std::thread> others(3);
        const auto wants = [&](int n) -> coroutine<> {
            try {
                auto turn = co_await async_turn(l, l.keys().write(1, 2, 3));
                others[n] = std::thread([given = std::move(turn)] {});
            } catch (const operation_canceled&) {
            }
            --left;
        };
        for (int n = 0; n != 3; ++n)
            co_spawn(pool, wants(n), detached, spawn_options().stop(stop.get_token()));
        stop.request_stop();
        until([&] { return left == 0; });
        for (std::thread& other : others)
            if (other.joinable()) other.join();
        until([&] { return l.active() == 0; });
    }
    CHECK(is_settled(l));
}

TEST_CASE(
    "while a turn lasts, join() of the pool of its lanes waits, and then runs what is behind the turn") {
    thread_pool pool(1);
    loop_context loop;
    const bank l(pool.get_executor());
    event has_turn;
    std::atomic<bool> may_end{false};
    std::atomic<bool> ran{false};
    auto done = co_spawn(
        loop,
        [&]() -> coroutine<void> {
            const auto turn = co_await async_turn(l, 1);
            has_turn.set();
            while (!may_end.load()) co_await sleep_for(1ms);
        },
        use_future);
    std::thread runner([&] { loop.run(); });
    has_turn.wait();
    CHECK(l.post(1, [&] { ran.store(true); }));
    CHECK(!pool.join_for(20ms));
    CHECK(!ran.load());
    may_end.store(true);
    pool.join();
    CHECK(ran.load());
    done.get();
    runner.join();
}

TEST_CASE("a turn that a thread keeps until its end, and a turn that an abandoned function owns, end there") {
    EKIDEN_SKIP_WITH_GCC_ON_WINDOWS("frees thread_local objects before it destroys them");
    thread_pool pool(2);
    const bank l(pool.get_executor());
    const bank m(pool.get_executor(), {.lane_capacity = 1, .policy = when_full::drop_newest});
    std::atomic<int> runs = 0;
    for (int i = 0; i != ekiden_test::rounds(100); ++i) {
        sync_wait(pool.get_executor(), [&]() -> coroutine<> {
            auto turn = co_await async_turn(l, l.keys().write(1, 2));
            CHECK(l.post({1, 2}, [&] { ++runs; }));
            if (i % 2 == 0) {
                std::thread([given = std::move(turn)]() mutable {
                    thread_local lane_turn until_end;
                    until_end = std::move(given);
                }).join();
            } else {
                holder h;
                auto held = spawn_in_turn(m, 1, h.hold(), use_future);
                co_await async_wait(h.begun);
                CHECK(m.post(1, [] {}));
                CHECK(
                    m.post(1, [given = std::make_shared<lane_turn>(std::move(turn))] {})); // dropped at once
                h.opened.set();
                co_await std::move(held);
            }
        });
        until([&] { return runs == i + 1; });
    }
}

TEST_CASE("a turn may outlive its lanes, and what waits behind it still runs") {
    thread_pool pool(2);
    std::atomic<int> runs = 0;
    sync_wait(pool.get_executor(), [&]() -> coroutine<> {
        auto l = std::make_unique<bank>(pool.get_executor());
        auto turn = co_await async_turn(*l, l->keys().write(1, 2));
        CHECK(l->post(1, [&] { ++runs; }));
        spawn_in_turn(*l, {1, 2}, [&]() -> coroutine<> {
            co_await yield();
            ++runs;
        });
        l.reset();
        co_await sleep_for(1ms);
        CHECK(turn.has_lanes());
        CHECK(runs == 0);
    });
    until([&] { return runs == 2; });
}

// ---- stops and deadlines

TEST_CASE("a stop before a turn begins withdraws it, whoever requests the stop") {
    thread_pool pool(2);
    const bank l(pool.get_executor());
    holder h;
    auto held = spawn_in_turn(l, 1, h.hold(), use_future);
    h.begun.wait();
    std::atomic<int> withdrawn = 0;
    const auto waits = [&]() -> coroutine<> {
        try {
            const auto turn = co_await async_turn(l, l.keys().write(1, 2));
        } catch (const operation_canceled&) {
            ++withdrawn;
            throw;
        }
    };
    sync_wait(pool.get_executor(), [&]() -> coroutine<> {
        const auto ends = []() -> coroutine<> { co_await sleep_for(100us); };
        co_await when_any(waits, ends);
        CHECK(withdrawn == 1);
        bool is_late = false;
        try {
            co_await with_timeout(100us, waits);
        } catch (const timed_out&) {
            is_late = true;
        }
        CHECK(is_late);
        CHECK(withdrawn == 2);
        const auto body = [&](async_scope& scope) -> coroutine<> {
            CHECK(scope.spawn(waits));
            co_await sleep_for(100us);
            scope.request_stop();
        };
        try {
            co_await with_scope(body);
        } catch (const operation_canceled&) {
        }
        CHECK(withdrawn == 3);
    });
    event behind;
    CHECK(l.post(2, [&] { behind.set(); }));
    behind.wait();
    h.opened.set();
    held.get();
    until([&] { return is_settled(l); });
    CHECK(l.metrics().dropped == 3);
}

TEST_CASE("a stop after the beginning of a turn is only told, and the turn lasts") {
    thread_pool pool(2);
    const bank l(pool.get_executor());
    event begun;
    event never;
    event opened;
    std::stop_source stop;
    bool is_told = false;
    auto done = spawn_in_turn(
        l, 1,
        [&]() -> coroutine<> {
            begun.set();
            try {
                co_await async_wait(never);
            } catch (const operation_canceled&) {
                is_told = true;
            }
            const auto cleans_up = [&]() -> coroutine<> { co_await async_wait(opened); };
            co_await shield(cleans_up);
        },
        use_future, spawn_options().stop(stop.get_token()));
    begun.wait();
    std::atomic<bool> has_run = false;
    CHECK(l.post(1, [&] { has_run = true; }));
    stop.request_stop();
    CHECK(!l.wait_idle_for(1, 1ms));
    CHECK(!has_run);
    opened.set();
    done.get();
    CHECK(is_told);
    l.wait_idle(1);
    CHECK(has_run);
}

TEST_CASE("a coroutine that was stopped before it wants a turn adds no request") {
    thread_pool pool(2);
    const bank l(pool.get_executor());
    std::stop_source stop;
    stop.request_stop();
    auto done = co_spawn(
        pool, [&]() -> coroutine<> { const auto turn = co_await async_turn(l, 1); }, use_future,
        spawn_options().stop(stop.get_token()));
    CHECK(code_of([&] { done.get(); }) == std::errc::operation_canceled);
    CHECK(l.metrics().posted == 0);
    bool has_run = false;
    auto spawned = spawn_in_turn(
        l, 1,
        [&]() -> coroutine<> {
            has_run = true;
            co_return;
        },
        use_future, spawn_options().stop(stop.get_token()));
    CHECK(code_of([&] { spawned.get(); }) == std::errc::operation_canceled);
    CHECK(!has_run);
    until([&] { return is_settled(l); });
}

// ---- destroyed coroutines

TEST_CASE("a context that ends destroys its coroutines in their turns and before, and their keys are free") {
    thread_pool pool(2);
    const bank l(pool.get_executor());
    std::atomic<int> alive = 0;
    for (int i = 0; i != ekiden_test::rounds(100); ++i) {
        {
            event never;
            loop_context loop;
            bool has_turn = false;
            const auto wants = [&](auto keys) -> coroutine<> {
                const ekiden_test::witness w(alive);
                const auto turn = co_await async_turn(l, l.keys().write_all(keys));
                has_turn = true;
                co_await async_wait(never);
            };
            co_spawn(loop, [&] { return wants(std::vector{1, 2}); });
            while (!has_turn) loop.poll(), loop.restart();
            for (int n = 0; n != 3; ++n) co_spawn(loop, [&, n] { return wants(std::vector{n, 3}); });
            loop.poll();
            pool.wait_idle(); // no thread may begin a turn while the loop is being destroyed
            CHECK(l.active() != 0);
        }
        CHECK(alive == 0);
        until([&] { return l.active() == 0; });
    }
    CHECK(is_settled(l));
}

TEST_CASE(
    "a loop whose coroutines have and await turns may be destroyed after the pool of the lanes was joined") {
    constexpr int coroutines = 8;
    for (int i = 0; i != ekiden_test::rounds(100); ++i) {
        std::atomic<int> alive = 0;
        std::atomic<int> turns = 0;
        thread_pool pool(2);
        const bank l(pool.get_executor());
        event never;
        {
            loop_context loop;
            const auto wants = [&](int n) -> coroutine<> {
                const ekiden_test::witness w(alive);
                try {
                    for (int round = 0; round != 3; ++round) {
                        const auto turn = co_await async_turn(l, l.keys().write(n % 3, 3));
                        ++turns;
                        co_await yield();
                    }
                    const auto last = co_await async_turn(l, n % 3);
                    co_await async_wait(never);
                } catch (const operation_canceled&) { // the pool has stopped
                }
                co_await async_wait(never);
            };
            for (int n = 0; n != coroutines; ++n) co_spawn(loop, [&, n] { return wants(n); });
            // The pool stops while its workers begin turns.
            while (turns < i % (2 * coroutines) + 1) loop.poll(), loop.restart();
            pool.stop();
            if (i % 3 == 0) loop.poll();
            pool.join();
            if (i % 3 == 1) loop.restart(), loop.poll();
            CHECK(alive == coroutines);
        }
        CHECK(alive == 0);
        CHECK(l.active() == 0);
    }
}

TEST_CASE(
    "a pool that is stopped and destroyed ends the turns of its coroutines, and a long chain behind them") {
    std::atomic<int> alive = 0;
    for (const int chain : {1, 10, 20'000}) {
        event never;
        event begun;
        auto pool = std::make_unique<thread_pool>(2);
        auto l = std::make_unique<bank>(pool->get_executor());
        spawn_in_turn(*l, {1, 2}, [&, w = ekiden_test::witness(alive)]() -> coroutine<> {
            begun.set();
            co_await async_wait(never);
        });
        begun.wait();
        for (int n = 0; n != chain; ++n) {
            spawn_in_turn(*l, {1, 2 + n % 3},
                          [w = ekiden_test::witness(alive)]() -> coroutine<> { co_return; });
            if (n % 2 == 0) CHECK(l->post(1, [w = ekiden_test::witness(alive)] {}));
        }
        pool->stop();
        if (chain == 10) l.reset();
        pool.reset();
        CHECK(alive == 0);
        CHECK((l == nullptr || l->active() == 0));
    }
}

TEST_CASE("an async_turn() that is not awaited, or awaited late, adds its request when it is awaited") {
    thread_pool pool(2);
    const bank l(pool.get_executor());
    {
        const auto unused = async_turn(l, l.keys().write(1, 2));
    }
    CHECK(l.metrics().posted == 0);
    sync_wait(pool.get_executor(), [&]() -> coroutine<> {
        auto later = async_turn(l, l.keys().write(1, 2));
        CHECK(l.active() == 0);
        std::atomic<bool> has_run = false;
        CHECK(l.post({1, 2}, [&] { has_run = true; }));
        const auto turn = co_await later;
        CHECK(has_run); // it was posted before the turn was awaited
    });
}

TEST_CASE("a turn of a coroutine of another library is refused only inside of the lanes") {
    // The awaiting coroutine has no environment of this library, so nothing is known of its turns.
    struct foreign {
        struct promise_type {
            foreign get_return_object() noexcept { return {}; }
            static std::suspend_never initial_suspend() noexcept { return {}; }
            static std::suspend_never final_suspend() noexcept { return {}; }
            static void return_void() noexcept {}
            static void unhandled_exception() noexcept { std::terminate(); }
        };
    };
    thread_pool pool(2);
    const bank l(pool.get_executor());
    event done;
    std::error_code inside;
    const auto wants = [](const bank& of, event& ended, std::error_code& code) -> foreign {
        try {
            const auto turn = co_await async_turn(of, of.keys().write(1, 2));
            CHECK(turn.has_lanes());
        } catch (const std::system_error& error) {
            code = error.code();
        }
        ended.set();
    };
    wants(l, done, inside);
    done.wait();
    CHECK(!inside);
    event done_too;
    CHECK(l.post(1, [&] { wants(l, done_too, inside); }));
    done_too.wait();
    CHECK(inside == std::errc::resource_deadlock_would_occur);
    until([&] { return is_settled(l); });
}

namespace {

/// A key whose copy constructor throws if `fails` is true.
struct fickle_key {
    explicit fickle_key(bool& copies_fail) noexcept : fails(&copies_fail) {}
    fickle_key(const fickle_key& other) : fails(other.fails) {
        if (*fails) throw std::runtime_error("no copy");
    }
    fickle_key(fickle_key&&) noexcept = default;
    fickle_key& operator=(const fickle_key&) = default;
    friend bool operator==(const fickle_key&, const fickle_key&) noexcept { return true; }

    bool* fails;
};

struct witnessed_hash {
    std::size_t operator()(const fickle_key&) const noexcept { return 0; }
    std::shared_ptr<int> witness;
};

} // namespace

TEST_CASE("the lanes are destroyed if the copy of a key throws while a turn is made") {
    const auto witness = std::make_shared<int>(0);
    bool fails = false;
    thread_pool pool(1);
    {
        const lanes<fickle_key, thread_pool::executor_type, witnessed_hash> l(pool.get_executor(), {},
                                                                              witnessed_hash{witness});
        const fickle_key key(fails);
        fails = true;
        CHECK_THROWS_AS((void)async_turn(l, key), std::runtime_error);
    }
    CHECK(witness.use_count() == 1);
}
