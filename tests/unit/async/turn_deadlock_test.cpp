// Turns that could wait for each other are refused, and nothing else is.
#include "../failing_allocations.hpp"
#include "run_coroutine.hpp"
#include "turn_support.hpp"

#include <ekiden/async/async_scope.hpp>
#include <ekiden/async/resume_on.hpp>
#include <ekiden/async/sync_wait.hpp>
#include <ekiden/async/when_all.hpp>
#include <ekiden/async/when_any.hpp>
#include <ekiden/async/with_deadline.hpp>
#include <ekiden/execution/any_executor.hpp>
#include <ekiden/execution/strand.hpp>
#include <ekiden/loop/loop_context.hpp>
#include <ekiden/pool/thread_pool.hpp>

#include <doctest/doctest.h>

#include <chrono>
#include <memory>
#include <system_error>
#include <utility>

using namespace ekiden;
using namespace std::chrono_literals;
using ekiden_test::bank;
using ekiden_test::code_of;
using ekiden_test::holder;

namespace {

const auto would_deadlock = make_error_code(std::errc::resource_deadlock_would_occur);

/// Awaits a turn, ends it, and returns the code of the exception.
coroutine<std::error_code> code_of_turn(const bank& in, int key) {
    try {
        const auto turn = co_await async_turn(in, key);
    } catch (const std::system_error& error) {
        co_return error.code();
    }
    co_return std::error_code();
}
/// Does the same with a limit.
coroutine<std::error_code> code_of_limited_turn(const bank& in, int key) {
    try {
        const auto turn = co_await async_turn_for(in, key, 1h);
    } catch (const std::system_error& error) {
        co_return error.code();
    }
    co_return std::error_code();
}
template <class Executor>
coroutine<std::error_code> code_of_move(const Executor& to) {
    try {
        co_await resume_on(to);
    } catch (const std::system_error& error) {
        co_return error.code();
    }
    co_return std::error_code();
}

} // namespace

TEST_CASE("a second turn is refused in the same lanes only, with a limit and without keys, too") {
    thread_pool pool(2);
    const bank accounts(pool.get_executor());
    const bank others(pool.get_executor());
    sync_wait(pool.get_executor(), [&]() -> coroutine<> {
        const auto turn = co_await async_turn(accounts, 1);
        CHECK(co_await code_of_turn(accounts, 1) == would_deadlock);
        CHECK(co_await code_of_turn(accounts, 2) == would_deadlock);
        CHECK(co_await code_of_limited_turn(accounts, 2) == would_deadlock);
        CHECK(co_await code_of_turn(others, 1) == std::error_code());
        CHECK(co_await code_of_limited_turn(others, 1) == std::error_code());
        std::error_code code;
        try {
            const auto none = co_await async_turn(accounts, accounts.keys());
        } catch (const std::system_error& error) {
            code = error.code();
        }
        CHECK(code == would_deadlock);
    });
    CHECK(ekiden_test::is_settled(accounts));
}

TEST_CASE("the coroutines of a group and of a scope inherit the turns of the coroutine that awaits them") {
    thread_pool pool(2);
    const bank accounts(pool.get_executor());
    sync_wait(pool.get_executor(), [&]() -> coroutine<> {
        const auto refused = [&]() -> coroutine<> {
            CHECK(co_await code_of_turn(accounts, 2) == would_deadlock);
            CHECK(co_await code_of_move(accounts.get_executor(3)) == would_deadlock);
        };
        const auto allowed = [&]() -> coroutine<> {
            CHECK(co_await code_of_turn(accounts, 2) == std::error_code());
            CHECK(co_await code_of_move(accounts.get_executor(3)) == std::error_code());
        };
        const auto in_scope = [&](async_scope& scope) -> coroutine<> {
            CHECK(scope.spawn(refused));
            co_await refused();
        };
        {
            const auto turn = co_await async_turn(accounts, 1);
            co_await when_all(refused, refused);
            co_await when_any(refused, refused);
            co_await with_timeout(1h, refused);
            co_await shield(refused);
            co_await with_scope(in_scope);
        }
        co_await when_all(allowed, allowed);
        co_await with_timeout(1h, allowed);
        co_await shield(allowed);
        co_await allowed();
        const auto turn = co_await async_turn(accounts, 1);
    });
    CHECK(ekiden_test::is_settled(accounts));
}

TEST_CASE("a child of a scope that outlives the turn of its parent may have a turn of its own") {
    thread_pool pool(2);
    const bank accounts(pool.get_executor());
    event has_ended;
    sync_wait(pool.get_executor(), [&]() -> coroutine<> {
        auto turn = co_await async_turn(accounts, 1);
        const auto late = [&]() -> coroutine<> {
            co_await async_wait(has_ended);
            CHECK(co_await code_of_turn(accounts, 1) == std::error_code());
        };
        const auto body = [&](async_scope& scope) -> coroutine<> {
            CHECK(scope.spawn(late));
            CHECK(scope.spawn(late));
            turn.end();
            has_ended.set();
            co_return;
        };
        co_await with_scope(body);
    });
}

TEST_CASE("a turn is refused on the executor of a lane of the same lanes, which may be erased") {
    thread_pool pool(2);
    const bank accounts(pool.get_executor());
    const bank others(pool.get_executor());
    const auto lane = accounts.get_executor(9);
    const any_executor erased(lane);
    CHECK(erased.lanes_id() == lane.lanes_id());
    CHECK(erased.lanes_id() != others.get_executor(9).lanes_id());
    CHECK(any_executor(pool.get_executor()).lanes_id() == nullptr);
    const auto code_on = [](const auto& where, const bank& in) {
        return co_spawn(where, [&in]() { return code_of_turn(in, 1); }, use_future).get();
    };
    CHECK(code_on(lane, accounts) == would_deadlock);
    CHECK(code_on(erased, accounts) == would_deadlock);
    CHECK(code_on(lane, others) == std::error_code());
    CHECK(code_on(erased, others) == std::error_code());
    CHECK(code_on(pool.get_executor(), accounts) == std::error_code());
}

TEST_CASE("after the end of a turn its coroutine may move to a lane, and come back") {
    thread_pool pool(2);
    const bank accounts(pool.get_executor());
    sync_wait(pool.get_executor(), [&]() -> coroutine<> {
        for (int i = 0; i != 100; ++i) {
            {
                const auto turn = co_await async_turn(accounts, i % 3);
                CHECK(co_await code_of_move(accounts.get_executor(1)) == would_deadlock);
            }
            co_await resume_on(accounts.get_executor(1));
            CHECK(accounts.running_in_this_thread(1));
            CHECK(co_await code_of_turn(accounts, i % 3) == would_deadlock);
            co_await resume_on(pool.get_executor());
        }
    });
}

TEST_CASE("a turn is refused on a strand on the executor of a lane, while the strand runs in the lane") {
    thread_pool pool(2);
    const bank accounts(pool.get_executor());
    const strand inside(accounts.get_executor(1));
    auto code = co_spawn(inside, [&] { return code_of_turn(accounts, 2); }, use_future);
    CHECK(code.get() == would_deadlock);
    pool.wait_idle();
    CHECK(ekiden_test::is_settled(accounts));
}

TEST_CASE("a refused turn leaves nothing in the lanes, and does not end the first turn") {
    thread_pool pool(2);
    const bank accounts(pool.get_executor(), {.lane_capacity = 1});
    sync_wait(pool.get_executor(), [&]() -> coroutine<> {
        const auto turn = co_await async_turn(accounts, 1);
        for (int i = 0; i != 10; ++i) CHECK(co_await code_of_turn(accounts, 1) == would_deadlock);
        CHECK(turn.has_lanes());
        CHECK(accounts.depth(1) == 0);
        CHECK(accounts.metrics().posted == 1);
    });
}

#if !defined(EKIDEN_TSAN)
TEST_CASE("turns one after the other do not grow the memory of their coroutine") {
    thread_pool pool(1);
    const bank accounts(pool.get_executor());
    const bank others(pool.get_executor());
    sync_wait(pool.get_executor(), [&]() -> coroutine<> {
        long before = 0;
        for (int i = 0; i != 2000; ++i) {
            if (i == 1000) before = ekiden_test::live_allocation_count();
            const auto turn = co_await async_turn(accounts, accounts.keys().write(1, 2));
            const auto second = co_await async_turn(others, others.keys().write(1).read(2));
        }
        CHECK(ekiden_test::live_allocation_count() <= before + 8);
    });
}
#endif

TEST_CASE("a coroutine that always has a turn does not remember all its turns") {
    thread_pool pool(1);
    const bank first(pool.get_executor());
    const bank second(pool.get_executor());
    sync_wait(pool.get_executor(), [&]() -> coroutine<> {
        lane_turn held = co_await async_turn(first, 1);
        // With a list of all turns, each step would be slower than the step before.
        for (int step = 0; step != 50'000; ++step) {
            lane_turn next = co_await async_turn(step % 2 == 0 ? second : first, 1);
            held = std::move(next);
        }
        CHECK(held.has_lanes());
    });
}
