// A simulation runs what programs are made of, unchanged, and its choices decide the order.
#include "quiet.hpp"

#include <ekiden/async/async_event.hpp>
#include <ekiden/async/async_lock.hpp>
#include <ekiden/async/co_spawn.hpp>
#include <ekiden/async/sleep.hpp>
#include <ekiden/async/sync_wait.hpp>
#include <ekiden/async/with_deadline.hpp>
#include <ekiden/execution/lanes.hpp>
#include <ekiden/execution/post.hpp>
#include <ekiden/execution/strand.hpp>
#include <ekiden/execution/then.hpp>
#include <ekiden/execution/work_guard.hpp>
#include <ekiden/sim/checks.hpp>
#include <ekiden/sim/explore.hpp>
#include <ekiden/sync/mutex.hpp>
#include <ekiden/timer/steady_timer.hpp>
#include <ekiden/timer/system_timer.hpp>

#include <doctest/doctest.h>

#include <chrono>
#include <set>
#include <string>
#include <system_error>
#include <vector>

using namespace ekiden;
using namespace std::chrono_literals;

TEST_CASE("the dull simulation runs tasks in the order of their posts") {
    sim_context sim;
    std::vector<int> seen;
    for (int i = 0; i < 5; ++i) post(sim, [&seen, i] { seen.push_back(i); });
    CHECK(sim.run() == 5);
    CHECK(seen == std::vector<int>{0, 1, 2, 3, 4});
    CHECK(sim.run() == 0);
}

TEST_CASE(
    "seeds see all orders of independent tasks, and one of tasks of a strand, a lane or a context in order") {
    std::set<std::vector<int>> orders;
    const auto result = sim::explore(quiet(200), [&](sim_context& sim) {
        std::vector<int> free;
        std::vector<int> bound;
        std::vector<int> keyed;
        std::vector<int> ordered;
        const strand s(sim.get_executor());
        const lanes<int> l(sim.get_executor());
        sim_context loop({.name = "loop", .in_order = true});
        for (int i = 0; i < 3; ++i) {
            sim.get_executor().post([&free, i] { free.push_back(i); });
            s.post([&bound, i] { bound.push_back(i); });
            l.post(7, [&keyed, i] { keyed.push_back(i); });
            loop.get_executor().post([&ordered, i] { ordered.push_back(i); });
        }
        sim.run();
        orders.insert(free);
        const std::vector<int> in_order{0, 1, 2};
        sim::expect(bound == in_order, "a strand keeps the order");
        sim::expect(keyed == in_order, "a lane keeps the order");
        sim::expect(ordered == in_order, "a context in order keeps the order");
    });
    CHECK_MESSAGE(result.is_clean(), result.text);
    CHECK(result.runs == 200);
    CHECK(orders.size() == 6);
}

TEST_CASE("lanes of one shard take turns in every order") {
    std::set<std::vector<int>> orders;
    const auto result = sim::explore(quiet(200), [&](sim_context& sim) {
        std::vector<int> seen;
        const lanes<int> l(sim.get_executor(), {.shards = 1});
        for (int i = 0; i < 2; ++i) {
            for (int key = 0; key < 2; ++key) l.post(key, [&seen, key] { seen.push_back(key); });
        }
        sim.run();
        orders.insert(seen);
    });
    CHECK_MESSAGE(result.is_clean(), result.text);
    CHECK(orders.size() == 6);
}

TEST_CASE("timers fire in virtual time, which costs none") {
    sim_context sim;
    steady_timer day(sim, 24h);
    system_timer hour(sim, 1h);
    std::vector<std::string> seen;
    day.async_wait([&](std::error_code error) {
        CHECK(error == std::errc::operation_canceled);
        seen.emplace_back("cancelled");
    });
    hour.async_wait([&](std::error_code error) {
        CHECK(!error);
        CHECK(sim.elapsed() == 1h);
        CHECK(system_timer::now() == hour.expiry());
        seen.emplace_back("hour");
        CHECK(day.expires_at(day.expiry() - 1min) == 1);
        day.async_wait([&](std::error_code again) {
            CHECK(!again);
            CHECK(sim.elapsed() == 24h - 1min);
            CHECK(steady_timer::now() == day.expiry());
            seen.emplace_back("day");
        });
    });
    sim.run();
    CHECK(seen == std::vector<std::string>{"hour", "cancelled", "day"});
    sim.run_for(30s);
    CHECK(sim.elapsed() == 24h - 30s);
}

TEST_CASE("a timeout and work that is ready come in either order") {
    std::set<std::string> orders;
    const auto result = sim::explore(quiet(300), [&](sim_context& sim) {
        std::string seen;
        steady_timer timer(sim, 1ms);
        timer.async_wait([&](std::error_code) { seen += 't'; });
        steady_timer other(sim, 1ms);
        other.async_wait([&](std::error_code) { seen += 'o'; });
        post(sim, [&] { seen += 'w'; });
        sim.run();
        orders.insert(seen);
    });
    CHECK_MESSAGE(result.is_clean(), result.text);
    CHECK(orders.size() == 6);
}

TEST_CASE("coroutines, awaited locks, sleeps and deadlines work unchanged") {
    std::set<std::vector<int>> orders;
    const auto result = sim::explore(quiet(200), [&](sim_context& sim) {
        mutex m;
        event opened;
        int inside = 0;
        std::vector<int> seen;
        for (int i = 0; i < 3; ++i) {
            co_spawn(sim, [&, i]() -> coroutine<> {
                co_await async_wait(opened);
                sim::expect(co_await async_lock(m), "the lock is taken");
                sim::expect(++inside == 1, "one at a time");
                co_await sleep_for(std::chrono::milliseconds(i));
                --inside;
                seen.push_back(i);
                async_unlock(m);
            });
        }
        co_spawn(sim, [&]() -> coroutine<> {
            co_await sleep_for(1s);
            opened.set();
        });
        auto late = co_spawn(
            sim,
            [&]() -> coroutine<bool> {
                try {
                    co_await with_timeout(10ms, []() -> coroutine<> { co_await sleep_for(1h); });
                } catch (const std::system_error& error) {
                    co_return error.code() == std::errc::timed_out;
                }
                co_return false;
            },
            use_future);
        sim.run();
        sim::expect(seen.size() == 3, "all have been inside");
        sim::expect(late.get(), "the deadline has come");
        orders.insert(seen);
    });
    CHECK_MESSAGE(result.is_clean(), result.text);
    CHECK(orders.size() == 6);
}

TEST_CASE("the test itself can wait for a result, which runs the simulation") {
    sim_context sim;
    auto doubled =
        sim.get_executor().submit([] { return 21; }).then(sim.get_executor(), [](future<int> half) {
            return 2 * half.get();
        });
    CHECK(doubled.get() == 42);
    CHECK(sync_wait(sim.get_executor(),
                    [&]() -> coroutine<int> {
                        co_await sleep_for(1h);
                        co_return 7;
                    })
          == 7);
    CHECK(sim.elapsed() == 1h);
    promise<int> kept;
    CHECK(kept.get_future().wait_for(1min) == false);
    CHECK(sim.elapsed() == 1h + 1min);
}

TEST_CASE("a stopped context abandons what it has and refuses what comes") {
    sim_context sim;
    auto dropped = sim.get_executor().submit([] { return 1; });
    sim.stop();
    CHECK(sim.stopped());
    CHECK_THROWS_AS((void)dropped.get(), std::system_error);
    CHECK_FALSE(sim.get_executor().post([] {}));
    CHECK(sim.run() == 0);
}

TEST_CASE("a seed gives the same run again, another one a different run") {
    const auto order = [](std::uint64_t seed) {
        sim_context sim(seed);
        std::vector<int> seen;
        for (int i = 0; i < 20; ++i) post(sim, [&seen, i] { seen.push_back(i); });
        sim.run();
        return seen;
    };
    std::set<std::vector<int>> orders;
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        CHECK(order(seed) == order(seed));
        orders.insert(order(seed));
    }
    CHECK(orders.size() > 10);
}
