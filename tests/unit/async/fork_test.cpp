// fork() while coroutines of the parent wait: the child uses, drops and ends what it has got of them, and
// does not hang.
#include "../child_process.hpp"
#include "../effort.hpp"
#include "run_coroutine.hpp"
#include <tests/unit/posix.hpp>

#include <ekiden/async/async_buffer.hpp>
#include <ekiden/async/async_event.hpp>
#include <ekiden/async/async_lock.hpp>
#include <ekiden/async/async_scope.hpp>
#include <ekiden/async/await_future.hpp>
#include <ekiden/async/co_spawn.hpp>
#include <ekiden/async/select.hpp>
#include <ekiden/async/sleep.hpp>
#include <ekiden/async/sync_wait.hpp>
#include <ekiden/async/with_deadline.hpp>
#include <ekiden/async/yield.hpp>
#include <ekiden/loop/loop_context.hpp>
#include <ekiden/pool/thread_pool.hpp>
#include <ekiden/sync/bounded_buffer.hpp>
#include <ekiden/sync/counting_semaphore.hpp>
#include <ekiden/sync/event.hpp>
#include <ekiden/sync/fifo_mutex.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <system_error>
#include <thread>

using namespace ekiden;
using namespace std::chrono_literals;
using ekiden_test::run_in_child;
using ekiden_test::until;

namespace {

/// Ends the child, with the destructors of static objects. (A leak checker would find what was lost by the
/// fork.)
[[noreturn]] void leave(int code) {
#if defined(EKIDEN_ASAN)
    std::_Exit(code);
#else
    std::exit(code);
#endif
}

/// Coroutines of one context, one in each kind of wait.
struct waiting_coroutines {
    static constexpr int kinds = 8;

    fifo_mutex m;
    counting_semaphore<> permits{0};
    event never;
    bounded_buffer<int> empty{1};
    bounded_buffer<int> also_empty{1};
    promise<void> news;
    stop_state stop;
    std::atomic<int> asked{0};
    std::atomic<int> ended{0};

    template <class Executor>
    void begin(const Executor& where) {
        detail::lock_access::core(m).enter(mutex_base::free); // as async_lock() does it
        const auto spawn = [&](auto wait) {
            (void)ekiden_test::begin_on(
                any_executor(where),
                [this, wait]() -> coroutine<> {
                    ++asked;
                    try {
                        co_await wait();
                    } catch (const operation_canceled&) {
                    }
                    ++ended;
                },
                &stop);
        };
        spawn([this]() -> coroutine<> { const auto guard = co_await async_lock(m); });
        spawn([this]() -> coroutine<> { co_await async_acquire(permits); });
        spawn([this]() -> coroutine<> { co_await async_wait(never); });
        spawn([this]() -> coroutine<> { (void)co_await async_pop(empty); });
        spawn([this]() -> coroutine<> { (void)co_await select(empty, also_empty); });
        spawn([this]() -> coroutine<> { co_await news.get_future(); });
        spawn([]() -> coroutine<> { co_await sleep_for(24h); });
        spawn([this]() -> coroutine<> {
            const auto body = [this](async_scope& scope) -> coroutine<> {
                const auto child = [this]() -> coroutine<> { co_await async_wait(never); };
                (void)scope.spawn(child);
                co_await with_timeout(24h, child);
            };
            co_await with_scope(body);
        });
    }
    /// What they wait for comes, or they are stopped.
    void release_all() {
        async_unlock(m);
        permits.release();
        (void)empty.try_push(1);
        empty.close();
        also_empty.close();
        news.set_value();
        stop.request_stop();
        never.set();
    }
};

/// A context of the child's own, with the same waits.
[[nodiscard]] bool new_coroutines_work() {
    loop_context loop;
    waiting_coroutines fresh;
    fresh.begin(loop.get_executor());
    loop.poll();
    fresh.release_all();
    loop.restart();
    loop.run();
    return fresh.ended == waiting_coroutines::kinds;
}

} // namespace

TEST_CASE(
    "rule: a fork while coroutines of a pool wait in locks and timers: the child ends, whatever it does") {
    EKIDEN_SKIP_ON_WINDOWS("there is no fork()");
    thread_pool* const pool = new thread_pool(2); // goes in the child as well
    {
        waiting_coroutines waiting;
        waiting.begin(pool->get_executor());
        until([&] { return waiting.asked == waiting_coroutines::kinds; });
        pool->wait_idle();
        const auto by_exit = run_in_child([] { leave(0); });
        CHECK(by_exit.exit_code == 0);
        CHECK(by_exit.error_output.empty());
        const auto by_destructor = run_in_child([&] {
            delete pool;
            leave(waiting.ended == 0 && new_coroutines_work() ? 7 : 1);
        });
        CHECK(by_destructor.exit_code == 7);
        CHECK(by_destructor.error_output.empty());
        // They cannot come home there: the pool refuses them, and nothing runs.
        const auto by_release = run_in_child([&] {
            waiting.release_all();
            delete pool;
            leave(waiting.ended == 0 && new_coroutines_work() ? 8 : 1);
        });
        CHECK(by_release.exit_code == 8);
        CHECK(by_release.error_output.empty());
        const auto by_stop = run_in_child([&] {
            waiting.stop.request_stop();
            pool->stop();
            leave(waiting.ended == 0 ? 9 : 1);
        });
        CHECK(by_stop.exit_code == 9);
        CHECK(by_stop.error_output.empty());
        // The parent has seen nothing of that.
        CHECK(waiting.ended == 0);
        waiting.release_all();
        until([&] { return waiting.ended == waiting_coroutines::kinds; });
        pool->join();
    }
    delete pool;
}

TEST_CASE("rule: a fork while coroutines of a loop wait: the child ends the loop") {
    EKIDEN_SKIP_ON_WINDOWS("there is no fork()");
    for (const int hint : {1, loop_context::many}) {
        auto loop = std::make_unique<loop_context>(hint);
        waiting_coroutines waiting;
        waiting.begin(loop->get_executor());
        loop->poll();
        REQUIRE(waiting.asked == waiting_coroutines::kinds);
        const auto by_destructor = run_in_child([&] {
            loop.reset();
            leave(waiting.ended == 0 && new_coroutines_work() ? 7 : 1);
        });
        CHECK(by_destructor.exit_code == 7);
        CHECK(by_destructor.error_output.empty());
        const auto by_release = run_in_child([&] {
            waiting.release_all();
            bool is_refused = false;
            try {
                (void)loop->run();
            } catch (const std::system_error& refusal) {
                is_refused = refusal.code() == std::errc::operation_not_permitted;
            }
            loop.reset();
            leave(is_refused && waiting.ended == 0 ? 8 : 1);
        });
        CHECK(by_release.exit_code == 8);
        CHECK(by_release.error_output.empty());
        waiting.release_all();
        loop->restart();
        loop->run();
        CHECK(waiting.ended == waiting_coroutines::kinds);
    }
}

TEST_CASE("rule: forks at any moment while threads and coroutines are inside of locks and timers") {
    EKIDEN_SKIP_ON_WINDOWS("there is no fork()");
    auto pool = std::make_unique<thread_pool>(2);
    fifo_mutex m;
    event never;
    std::atomic<bool> is_over{false};
    std::atomic<int> running{0};
    const auto busy = [&]() -> coroutine<> {
        ++running;
        while (!is_over) {
            co_await yield();
            const auto guard = co_await async_lock(m);
            try {
                const auto napping = []() -> coroutine<> { co_await sleep_for(1h); };
                co_await with_timeout(10us, napping);
            } catch (const timed_out&) {
            }
        }
        --running;
    };
    for (int i = 0; i != 8; ++i) co_spawn(*pool, busy);
    until([&] { return running == 8; });
    for (int i = 0; i != ekiden_test::rounds(20); ++i) {
        const auto child = run_in_child([&] {
            bool is_refused = false;
            try {
                co_spawn(*pool, busy);
            } catch (const std::system_error& refusal) {
                is_refused = refusal.code() == std::errc::operation_not_permitted;
            }
            pool.reset();
            leave(is_refused && new_coroutines_work() ? 7 : 1);
        });
        REQUIRE(child.exit_code == 7);
    }
    is_over = true;
    pool->join();
    CHECK(running == 0);
}
