// The forms of run() and run_one() of a loop_context, and of join() of a loop_pool: success, time-out, a stop
// requested before the call and during it.
#include <ekiden/execution/work_guard.hpp>
#include <ekiden/future/future.hpp>
#include <ekiden/loop/loop_context.hpp>
#include <ekiden/loop/loop_pool.hpp>

#include <tests/unit/asleep.hpp>
#include <tests/unit/child_process.hpp>
#include <tests/unit/held_thread.hpp>
#include <tests/unit/posix.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <latch>
#include <optional>
#include <stop_token>
#include <system_error>
#include <thread>
#include <utility>

using namespace std::chrono_literals;
using ekiden::loop_context;
using ekiden::loop_pool;
using ekiden::wait_limit;
using ekiden_test::held_thread;
using ekiden_test::run_in_child;
using ekiden_test::start_asleep;

namespace {

constexpr auto long_enough = 1h;

/// Calls `check(loop)` with a context for one thread and with one for many.
template <class Check>
void for_both_loops(Check check) {
    for (const int hint : {1, loop_context::many}) {
        loop_context loop(hint);
        check(loop);
    }
}

/// Calls `join(pool)`, which is to return true, while a task runs that ends when the caller sleeps.
template <class Join>
void check_join(Join join) {
    loop_pool pool({.threads = 2});
    std::atomic<int> ran{0};
    held_thread held(pool.get_executor(0));
    pool.get_executor(0).post([&] { pool.get_executor(1).post([&] { ++ran; }); });
    bool is_done = false;
    std::thread joins = start_asleep([&] { is_done = join(pool); });
    held.go();
    joins.join();
    CHECK(is_done);
    CHECK(ran == 1);
    CHECK(pool.join_for(0s));
}

/// Calls `join(pool)`, which is to return false, while a task runs.
template <class Join>
void check_no_join(Join join) {
    loop_pool pool({.threads = 2});
    held_thread held(pool.get_executor(0));
    CHECK_FALSE(join(pool));
    CHECK_FALSE(join(pool));
    CHECK(pool.get_executor(1).submit([] { return 5; }).get() == 5); // it goes on
    held.go();
    CHECK(pool.get_executor(0).submit([] { return 6; }).get() == 6);
    pool.join();
}

} // namespace

// ---- loop_context

TEST_CASE("run with a stop token runs until there is no work, as run does") {
    for_both_loops([](loop_context& loop) {
        int ran = 0;
        for (int i = 0; i != 3; ++i) loop.get_executor().post([&] { ++ran; });
        const std::stop_source source;
        CHECK(loop.run_one(source.get_token()) == 1);
        CHECK(loop.run(source.get_token()) == 2);
        CHECK(ran == 3);
        CHECK(loop.is_stopped());
        loop.restart();
        loop.get_executor().post([&] { ++ran; });
        CHECK(loop.run(wait_limit::after(long_enough).with(source.get_token())) == 1);
        loop.restart();
        loop.get_executor().post([&] { ++ran; });
        CHECK(loop.run_one(wait_limit()) == 1);
        CHECK(ran == 5);
    });
}

TEST_CASE("a stop that was requested before run stops the loop, and no task runs before a restart") {
    for_both_loops([](loop_context& loop) {
        std::stop_source source;
        source.request_stop();
        int ran = 0;
        loop.get_executor().post([&] { ++ran; });
        CHECK(loop.run(source.get_token()) == 0);
        CHECK(loop.is_stopped());
        CHECK(loop.run() == 0);
        loop.restart();
        CHECK(loop.run_one(source.get_token()) == 0);
        CHECK(loop.is_stopped());
        loop.restart();
        CHECK(loop.run(wait_limit::after(long_enough).with(source.get_token())) == 0);
        CHECK(ran == 0);
        loop.restart();
        CHECK(loop.run() == 1);
    });
}

TEST_CASE("a stop request ends a run that waits for work, and the loop has stopped then") {
    for_both_loops([](loop_context& loop) {
        const auto guard = ekiden::make_work_guard(loop.get_executor());
        const auto check = [&](auto run) {
            std::stop_source source;
            std::size_t count = 1;
            std::thread runs = start_asleep([&] { count = run(source.get_token()); });
            source.request_stop();
            runs.join();
            CHECK(count == 0);
            CHECK(loop.is_stopped());
            loop.restart();
        };
        check([&](std::stop_token token) { return loop.run(token); });
        check([&](std::stop_token token) { return loop.run_one(token); });
        check([&](std::stop_token token) { return loop.run(wait_limit::after(long_enough).with(token)); });
        check(
            [&](std::stop_token token) { return loop.run_one(wait_limit::after(long_enough).with(token)); });
    });
}

TEST_CASE("a stop request of one thread's run makes every thread leave the loop") {
    loop_context loop;
    const auto guard = ekiden::make_work_guard(loop.get_executor());
    std::stop_source source;
    std::thread first = start_asleep([&] { loop.run(); });
    std::thread second = start_asleep([&] { loop.run(source.get_token()); });
    source.request_stop();
    first.join();
    second.join();
    CHECK(loop.is_stopped());
}

TEST_CASE("a stop request from a task of the loop ends the run after that task") {
    for_both_loops([](loop_context& loop) {
        std::stop_source source;
        int ran = 0;
        loop.get_executor().post([&] { source.request_stop(); });
        loop.get_executor().post([&] { ++ran; });
        CHECK(loop.run(source.get_token()) == 1);
        CHECK(ran == 0);
    });
}

TEST_CASE("a stop request after the run does not stop the loop") {
    for_both_loops([](loop_context& loop) {
        std::stop_source source;
        const auto guard = ekiden::make_work_guard(loop.get_executor());
        CHECK(loop.run(wait_limit::after(0s).with(source.get_token())) == 0);
        source.request_stop();
        CHECK_FALSE(loop.is_stopped());
    });
}

TEST_CASE("at the time of its limit a run returns, and the loop does not stop") {
    for_both_loops([](loop_context& loop) {
        const auto guard = ekiden::make_work_guard(loop.get_executor());
        CHECK(loop.run(wait_limit::after(1ms)) == 0);
        CHECK(loop.run_one(wait_limit::after(1ms)) == 0);
        CHECK(loop.run_for(1ms) == 0);
        CHECK(loop.run_one_for(-1s) == 0);
        CHECK(loop.run_until(std::chrono::steady_clock::now() + 1ms) == 0);
        CHECK(loop.run_until(std::chrono::system_clock::now() + 1ms) == 0);
        CHECK(loop.run_one_until(std::chrono::system_clock::now() + 1ms) == 0);
        CHECK_FALSE(loop.is_stopped());
        loop.get_executor().post([] {});
        CHECK(loop.run_one_for(long_enough) == 1);
        loop.get_executor().post([] {});
        CHECK(loop.run_one_until(std::chrono::system_clock::now() + long_enough) == 1);
    });
}

// ---- loop_pool

TEST_CASE("each form of a loop pool's join succeeds when nothing is left to do") {
    const std::stop_source source;
    check_join([](loop_pool& pool) {
        pool.join();
        return true;
    });
    check_join([&](loop_pool& pool) { return pool.join(source.get_token()); });
    check_join([](loop_pool& pool) { return pool.join(wait_limit::after(long_enough)); });
    check_join([](loop_pool& pool) { return pool.join_for(long_enough); });
    check_join(
        [](loop_pool& pool) { return pool.join_until(std::chrono::system_clock::now() + long_enough); });
}

TEST_CASE("a loop pool's join that gives up at its time leaves the loops as they were") {
    check_no_join([](loop_pool& pool) { return pool.join(wait_limit::after(1ms)); });
    check_no_join([](loop_pool& pool) { return pool.join_for(1ms); });
    check_no_join([](loop_pool& pool) { return pool.join_for(0s); });
    check_no_join([](loop_pool& pool) { return pool.join_until(std::chrono::steady_clock::now() + 1ms); });
}

TEST_CASE("a loop pool's join gives up at a stop request, before the call or during it") {
    std::stop_source before;
    before.request_stop();
    check_no_join([&](loop_pool& pool) { return pool.join(before.get_token()); });
    check_no_join([](loop_pool& pool) {
        std::stop_source source;
        bool is_done = true;
        std::thread joins = start_asleep([&] { is_done = pool.join(source.get_token()); });
        source.request_stop();
        joins.join();
        return is_done;
    });
}

TEST_CASE("a loop pool's join gives up on outstanding work, and a later join waits for it") {
    loop_pool pool({.threads = 2});
    std::atomic<int> ran{0};
    std::optional guard(ekiden::make_work_guard(pool.get_executor(1)));
    CHECK_FALSE(pool.join_for(1ms));
    std::thread joins = start_asleep([&] { pool.join(); });
    CHECK_FALSE(pool.join_for(0s)); // while another thread joins
    pool.get_executor(1).post([&] { ++ran; });
    guard.reset();
    joins.join();
    CHECK(ran == 1);
    CHECK(pool.join_for(0s));
}

TEST_CASE("a stop of a loop pool lets a join with a limit end when the running task has completed") {
    loop_pool pool({.threads = 2});
    held_thread held(pool.get_executor(0));
    const auto guard = ekiden::make_work_guard(pool.get_executor(1));
    CHECK_FALSE(pool.join_for(0s));
    pool.stop();
    CHECK_FALSE(pool.join_for(1ms)); // a task runs
    bool is_done = false;
    std::thread joins = start_asleep([&] { is_done = pool.join_for(long_enough); });
    held.go();
    joins.join();
    CHECK(is_done);
}

TEST_CASE("the destructor of a loop pool waits for what a join that gave up has left") {
    std::atomic<int> ran{0};
    std::optional<loop_pool> pool(std::in_place, ekiden::loop_pool_options{.threads = 1});
    std::latch go(1);
    pool->get_executor(0).post([&] {
        go.wait();
        pool->get_executor(0).post([&] { ++ran; });
    });
    CHECK_FALSE(pool->join_for(0s));
    std::thread destroys = start_asleep([&] { pool.reset(); });
    go.count_down();
    destroys.join();
    CHECK(ran == 1);
}

TEST_CASE("every form of a loop pool's join is refused in its threads, and in the child of a fork") {
    EKIDEN_SKIP_ON_WINDOWS("there is no fork()");
    loop_pool pool({.threads = 1});
    const auto refusal = [&](auto call) {
        try {
            (void)call();
            return std::error_code();
        } catch (const std::system_error& error) {
            return error.code();
        }
    };
    pool.get_executor(0)
        .submit([&] {
            CHECK(refusal([&] { return pool.join_for(0s); }) == std::errc::resource_deadlock_would_occur);
            CHECK(refusal([&] { return pool.join(std::stop_token()); })
                  == std::errc::resource_deadlock_would_occur);
        })
        .get();
    held_thread held(pool.get_executor(0));
    CHECK_FALSE(pool.join_for(0s));
    const auto child = run_in_child([&] {
        const bool is_right =
            refusal([&] { return pool.join_for(0s); }) == std::errc::operation_not_permitted
            && refusal([&] { return pool.join(std::stop_token()); }) == std::errc::operation_not_permitted
            && refusal([&] { return pool.join(wait_limit()); }) == std::errc::operation_not_permitted;
        std::_Exit(is_right ? 0 : 1);
    });
    CHECK(child.exit_code == 0);
}
