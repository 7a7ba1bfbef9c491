// A context is stopped or destroyed while all kinds of work are pending on it.
#include <ekiden/async/async_lock.hpp>
#include <ekiden/async/await_future.hpp>
#include <ekiden/async/co_spawn.hpp>
#include <ekiden/async/sleep.hpp>
#include <ekiden/async/when_all.hpp>
#include <ekiden/async/yield.hpp>
#include <ekiden/execution/post.hpp>
#include <ekiden/execution/strand.hpp>
#include <ekiden/execution/then.hpp>
#include <ekiden/lanes/lanes.hpp>
#include <ekiden/sim/checks.hpp>
#include <ekiden/sim/explore.hpp>
#include <ekiden/sync/mutex.hpp>
#include <ekiden/timer/steady_timer.hpp>

#include <doctest/doctest.h>

#include <chrono>
#include <optional>
#include <system_error>

using namespace ekiden;
using namespace std::chrono_literals;

namespace {

/// One of each kind of work, on its own context.
struct busy {
    mutex lock; // outlives its waiters
    int done = 0;
    sim_context pool{sim_context::options{.name = "pool"}};
    strand<sim_context::executor_type> serial{pool.get_executor()};
    lanes<int, sim_context::executor_type> keyed{pool.get_executor()};
    steady_timer timer{pool, 2ms};

    coroutine<> worker() {
        {
            const auto guard = co_await async_lock(lock);
            co_await sleep_for(1ms);
        }
        co_await when_all([this]() -> coroutine<> { co_await part(); },
                          [this]() -> coroutine<> { co_await part(); });
        ++done;
    }
    coroutine<> part() {
        auto result = pool.get_executor().submit([] { return 1; });
        (void)co_await std::move(result);
        co_await yield();
    }
    void start() {
        for (int i = 0; i < 3; ++i) {
            co_spawn(pool, [this]() -> coroutine<> { co_await worker(); });
            serial.post([this] { (void)keyed.post(7, [this] { ++done; }); });
            (void)keyed.post(i, [this] { serial.post([this] { ++done; }); });
        }
        timer.async_wait([this](std::error_code) { ++done; });
        (void)pool.get_executor().submit([] { return 2; }).then(serial, [this](auto) { ++done; });
    }
};

} // namespace

TEST_CASE("a context can be stopped and destroyed between any two steps") {
    sim::options chosen;
    chosen.seeds = 1000;
    chosen.prints = false;
    chosen.faults = {sim::fault::ending, sim::fault::late_task, sim::fault::late_timer};
    auto result = sim::explore(chosen, [](sim_context& sim) {
        std::optional<busy> all(std::in_place);
        bool is_stopped = false;
        bool is_destroyed = false;
        sim::at_any_time("the stop", [&] {
            if (all) all->pool.stop();
            is_stopped = true;
        });
        sim::at_any_time("the end", [&] {
            all->pool.stop();
            all.reset();
            is_destroyed = true;
        });
        all->start();
        sim.run();
        if (is_stopped) sim::reached("stopped");
        if (is_destroyed) sim::reached("destroyed");
        if (!is_stopped && !is_destroyed) {
            sim::expect(all->done == 11, "all is done");
            sim::reached("done");
        }
    });
    CHECK_MESSAGE(result.is_clean(), result.text);
    CHECK(result.reached["stopped"] > 0);
    CHECK(result.reached["destroyed"] > 0);
    CHECK(result.reached["done"] > 0);
}
