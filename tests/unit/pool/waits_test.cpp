// The forms of the pool's waits, wait_idle() and join(): success, time-out, a stop requested before the call
// and during it; and what a join() that gave up leaves.
#include <ekiden/execution/work_guard.hpp>
#include <ekiden/future/future.hpp>
#include <ekiden/pool/thread_pool.hpp>

#include <tests/unit/asleep.hpp>
#include <tests/unit/child_process.hpp>
#include <tests/unit/held_thread.hpp>
#include <tests/unit/posix.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <latch>
#include <memory>
#include <optional>
#include <stop_token>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

using namespace std::chrono_literals;
using ekiden::thread_pool;
using ekiden::wait_limit;
using ekiden_test::held_thread;
using ekiden_test::run_in_child;
using ekiden_test::start_asleep;

namespace {

constexpr auto long_enough = 1h;

/// The two waits, by one name.
struct idle_wait {
    template <class... Limit>
    static auto wait(thread_pool& pool, Limit... limit) {
        return pool.wait_idle(std::move(limit)...);
    }
    template <class Duration>
    static bool wait_for(thread_pool& pool, Duration length) {
        return pool.wait_idle_for(length);
    }
    template <class Time>
    static bool wait_until(thread_pool& pool, Time deadline) {
        return pool.wait_idle_until(deadline);
    }
};
struct join_wait {
    template <class... Limit>
    static auto wait(thread_pool& pool, Limit... limit) {
        return pool.join(std::move(limit)...);
    }
    template <class Duration>
    static bool wait_for(thread_pool& pool, Duration length) {
        return pool.join_for(length);
    }
    template <class Time>
    static bool wait_until(thread_pool& pool, Time deadline) {
        return pool.join_until(deadline);
    }
};

/// Calls `wait(pool)`, which is to return true, while a worker is held, from before the call until after the
/// thread that waits sleeps.
template <class Wait>
void check_success(Wait wait) {
    thread_pool pool({.threads = 2});
    std::atomic<int> ran{0};
    held_thread held(pool);
    pool.post([&] { ++ran; });
    bool is_done = false;
    std::thread waiting = start_asleep([&] { is_done = wait(pool); });
    held.go();
    waiting.join();
    CHECK(is_done);
    CHECK(ran == 1);
    CHECK(pool.metrics().tasks_pending == 0);
}

/// Calls `wait(pool)`, which is to return false, while a worker is held.
template <class Wait>
void check_refusal(Wait wait) {
    thread_pool pool({.threads = 2});
    held_thread held(pool);
    CHECK_FALSE(wait(pool));
    CHECK_FALSE(wait(pool));
    held.go();
    pool.join();
}

/// Requests a stop when `wait(pool, token)`, which is to return false, sleeps. The pool can be joined then.
template <class Wait>
void check_stop_during(Wait wait) {
    thread_pool pool({.threads = 1});
    held_thread held(pool);
    std::stop_source source;
    bool is_done = true;
    std::thread waiting = start_asleep([&] { is_done = wait(pool, source.get_token()); });
    source.request_stop();
    waiting.join();
    CHECK_FALSE(is_done);
    held.go();
    pool.join();
}

} // namespace

TEST_CASE_TEMPLATE("each form of a pool's wait succeeds when the last task has completed", Form, idle_wait,
                   join_wait) {
    const std::stop_source source;
    check_success([](thread_pool& pool) {
        Form::wait(pool);
        return true;
    });
    check_success([&](thread_pool& pool) { return Form::wait(pool, source.get_token()); });
    check_success([](thread_pool& pool) { return Form::wait(pool, wait_limit::after(long_enough)); });
    check_success([&](thread_pool& pool) {
        return Form::wait(pool, wait_limit::after(long_enough).with(source.get_token()));
    });
    check_success([](thread_pool& pool) { return Form::wait_for(pool, long_enough); });
    check_success([](thread_pool& pool) {
        return Form::wait_until(pool, std::chrono::steady_clock::now() + long_enough);
    });
    check_success([](thread_pool& pool) {
        return Form::wait_until(pool, std::chrono::system_clock::now() + long_enough);
    });
}

TEST_CASE_TEMPLATE("a pool's wait succeeds although its limit is reached, if nothing is left to do", Form,
                   idle_wait, join_wait) {
    thread_pool pool({.threads = 2});
    pool.submit([] {}).get();
    pool.wait_idle();
    std::stop_source source;
    source.request_stop();
    CHECK(Form::wait(pool, source.get_token()));
    CHECK(Form::wait_for(pool, 0s));
    CHECK(Form::wait_until(pool, std::chrono::steady_clock::time_point::min()));
    pool.join();
    CHECK(Form::wait_for(pool, 0s)); // also when the pool has ended
}

TEST_CASE_TEMPLATE("each form of a pool's wait gives up at its time", Form, idle_wait, join_wait) {
    check_refusal([](thread_pool& pool) { return Form::wait(pool, wait_limit::after(1ms)); });
    check_refusal([](thread_pool& pool) { return Form::wait_for(pool, 1ms); });
    check_refusal([](thread_pool& pool) { return Form::wait_for(pool, -1s); });
    check_refusal(
        [](thread_pool& pool) { return Form::wait_until(pool, std::chrono::steady_clock::now() + 1ms); });
    check_refusal(
        [](thread_pool& pool) { return Form::wait_until(pool, std::chrono::system_clock::now() + 1ms); });
}

TEST_CASE_TEMPLATE("a pool's wait gives up if a stop was requested before the call", Form, idle_wait,
                   join_wait) {
    std::stop_source source;
    source.request_stop();
    check_refusal([&](thread_pool& pool) { return Form::wait(pool, source.get_token()); });
    check_refusal([&](thread_pool& pool) {
        return Form::wait(pool, wait_limit::after(long_enough).with(source.get_token()));
    });
}

TEST_CASE_TEMPLATE("a pool's wait gives up if a stop is requested while it waits", Form, idle_wait,
                   join_wait) {
    check_stop_during([](thread_pool& pool, std::stop_token token) { return Form::wait(pool, token); });
    check_stop_during([](thread_pool& pool, std::stop_token token) {
        return Form::wait(pool, wait_limit::after(long_enough).with(token));
    });
}

TEST_CASE_TEMPLATE("two threads wait for a pool, and a stop request ends one of the waits", Form, idle_wait,
                   join_wait) {
    thread_pool pool({.threads = 1});
    held_thread held(pool);
    std::stop_source source;
    bool first = false;
    bool second = true;
    std::thread stays = start_asleep([&] { first = Form::wait(pool, wait_limit::after(long_enough)); });
    std::thread leaves = start_asleep([&] { second = Form::wait(pool, source.get_token()); });
    source.request_stop();
    leaves.join();
    CHECK_FALSE(second);
    held.go();
    stays.join();
    CHECK(first);
}

TEST_CASE_TEMPLATE("every form of a pool's wait is refused in a worker of the pool", Form, idle_wait,
                   join_wait) {
    thread_pool pool({.threads = 1});
    pool.submit([&] {
            CHECK_THROWS_AS((void)Form::wait_for(pool, 0s), std::system_error);
            CHECK_THROWS_AS((void)Form::wait(pool, std::stop_token()), std::system_error);
        })
        .get();
}

TEST_CASE("wait_idle that gives up has no effect on the pool") {
    thread_pool pool({.threads = 1});
    held_thread held(pool);
    CHECK_FALSE(pool.wait_idle_for(0s));
    CHECK(pool.post([] {}));
    pool.pause();
    held.go();
    CHECK_FALSE(pool.wait_idle_for(1ms)); // still paused
    pool.resume();
    pool.wait_idle();
    CHECK(pool.submit([] { return 3; }).get() == 3);
}

// ---- what a join() that gave up leaves

TEST_CASE("after a join that gave up, the pool refuses tasks from outside and runs those of its own") {
    thread_pool pool({.threads = 1});
    std::latch started(1);
    std::latch go(1);
    std::atomic<int> ran{0};
    pool.post([&] {
        started.count_down();
        go.wait();
        CHECK(pool.post([&] { ++ran; }));
    });
    started.wait();
    pool.post([&] { ++ran; });
    CHECK_FALSE(pool.join_for(0s));
    CHECK_FALSE(pool.post([&] { ran += 100; }));
    CHECK_THROWS_AS(pool.submit([] { return 1; }).get(), std::system_error);
    CHECK(ran == 0);
    go.count_down();
    pool.wait_idle(); // the pool goes on without a thread that joins it
    CHECK(ran == 2);
    CHECK(pool.metrics().threads == 1); // its threads are kept
    CHECK_FALSE(pool.post([] {}));
    CHECK(pool.join_for(0s));
}

TEST_CASE("a join whose limit was reached before the call resumes the pool, and pause has no effect then") {
    thread_pool pool({.threads = 1});
    std::atomic<int> ran{0};
    pool.pause();
    std::latch started(1);
    std::latch go(1);
    pool.post([&] {
        started.count_down();
        go.wait();
    });
    pool.post([&] { ++ran; });
    CHECK_FALSE(pool.join_for(0s));
    started.wait(); // it is resumed
    pool.pause();
    go.count_down();
    pool.wait_idle();
    CHECK(ran == 1);
    pool.join();
}

TEST_CASE("after a join that gave up, a pool accepts tasks from outside while work is outstanding") {
    thread_pool pool({.threads = 2});
    std::atomic<int> ran{0};
    std::optional guard(ekiden::make_work_guard(pool.get_executor()));
    CHECK_FALSE(pool.join_for(1ms));
    CHECK_FALSE(pool.join_for(0s));
    CHECK(pool.post([&] { ++ran; }));
    std::stop_source source;
    std::thread joins = start_asleep([&] { CHECK_FALSE(pool.join(source.get_token())); });
    CHECK(pool.post([&] { ++ran; }));
    source.request_stop();
    joins.join();
    CHECK(pool.post([&] { ++ran; }));
    std::thread last = start_asleep([&] { pool.join(); });
    guard.reset();
    last.join();
    CHECK(ran == 3);
    CHECK_FALSE(pool.post([] {}));
}

TEST_CASE("after a join that gave up, stop abandons what is queued and lets the next join end") {
    thread_pool pool({.threads = 1});
    held_thread held(pool);
    auto queued = pool.submit([] { return 1; });
    auto guard = ekiden::make_work_guard(pool.get_executor());
    CHECK_FALSE(pool.join_for(0s));
    pool.stop();
    CHECK_FALSE(pool.join_for(0s)); // a task runs
    CHECK_FALSE(pool.join_for(1ms));
    held.go();
    pool.join();
    CHECK_THROWS_AS(queued.get(), std::system_error);
    CHECK(pool.metrics().tasks_abandoned == 1);
}

TEST_CASE("a stop of the pool ends a join with a limit that waits for outstanding work") {
    thread_pool pool({.threads = 1});
    auto guard = ekiden::make_work_guard(pool.get_executor());
    bool is_done = false;
    std::thread joins = start_asleep([&] { is_done = pool.join_for(long_enough); });
    pool.stop();
    joins.join();
    CHECK(is_done);
}

TEST_CASE("a join gives up while another thread joins, and that thread's join goes on") {
    thread_pool pool({.threads = 1});
    held_thread held(pool);
    std::thread joins = start_asleep([&] { pool.join(); });
    CHECK_FALSE(pool.join_for(0s));
    CHECK_FALSE(pool.join_for(1ms));
    std::stop_source source;
    std::thread other = start_asleep([&] { CHECK_FALSE(pool.join(source.get_token())); });
    source.request_stop();
    other.join();
    held.go();
    joins.join();
    CHECK(pool.join_for(0s));
}

TEST_CASE("the destructor waits for what a join that gave up has left") {
    std::atomic<int> ran{0};
    std::latch go(1);
    std::optional<thread_pool> pool(std::in_place, ekiden::thread_pool_options{.threads = 1});
    pool->post([&] {
        go.wait();
        pool->post([&] { ++ran; });
    });
    pool->post([&] { ++ran; });
    CHECK_FALSE(pool->join_for(0s));
    std::stop_source source;
    source.request_stop();
    CHECK_FALSE(pool->join(source.get_token()));
    std::thread destroys = start_asleep([&] { pool.reset(); });
    go.count_down();
    destroys.join();
    CHECK(ran == 2);
}

TEST_CASE("the destructor waits for outstanding work that a join has given up on") {
    std::atomic<int> ran{0};
    std::optional<thread_pool> pool(std::in_place, ekiden::thread_pool_options{.threads = 1});
    const auto executor = pool->get_executor();
    executor.on_work_started();
    CHECK_FALSE(pool->join_for(0s));
    std::thread destroys = start_asleep([&] { pool.reset(); });
    CHECK(executor.post([&] { ++ran; }));
    executor.on_work_finished();
    destroys.join();
    CHECK(ran == 1);
}

TEST_CASE("a pool whose join gave up in the parent refuses every wait in the child of a fork") {
    EKIDEN_SKIP_ON_WINDOWS("there is no fork()");
    thread_pool pool({.threads = 1});
    held_thread held(pool);
    CHECK_FALSE(pool.join_for(0s));
    std::thread joins = start_asleep([&] { pool.join(); }); // so that another thread has the turn
    const auto refuses = [](auto call) {
        try {
            (void)call();
            return false;
        } catch (const std::system_error& error) {
            return error.code() == std::errc::operation_not_permitted;
        }
    };
    const auto child = run_in_child([&] {
        const std::stop_token token;
        const bool is_right =
            refuses([&] { return pool.join_for(0s); }) && refuses([&] { return pool.join(token); })
            && refuses([&] { return pool.join(wait_limit()); })
            && refuses([&] { return pool.wait_idle_for(0s); })
            && refuses([&] { return pool.wait_idle(token); }) && refuses([&] { return pool.post([] {}); });
        pool.stop();
        std::_Exit(is_right ? 0 : 1);
    });
    CHECK(child.exit_code == 0);
    held.go();
    joins.join();
}

TEST_CASE("a join with a limit is repeated until the pool has ended, while tasks come and go") {
    for (int round = 0; round != 20; ++round) {
        thread_pool pool({.threads = 2});
        std::atomic<int> ran{0};
        for (int i = 0; i != 100; ++i) {
            pool.post([&] {
                ++ran;
                pool.post([&] { ++ran; });
            });
        }
        while (!pool.join_for(10us)) {
        }
        CHECK(ran == 200);
    }
}

TEST_CASE("stop requests race with the end of what is waited for") {
    for (int round = 0; round != 200; ++round) {
        thread_pool pool({.threads = 1});
        auto guard = std::make_unique<decltype(ekiden::make_work_guard(pool.get_executor()))>(
            ekiden::make_work_guard(pool.get_executor()));
        std::stop_source source;
        std::jthread stops([&] { source.request_stop(); });
        std::jthread ends([&] { guard.reset(); });
        (void)pool.wait_idle(source.get_token());
        (void)pool.join(source.get_token());
        pool.join();
    }
}
