// A simulation runs the parts of programs unchanged, and its choices decide the order.
#include "quiet.hpp"

#include <ekiden/async/async_event.hpp>
#include <ekiden/async/async_lock.hpp>
#include <ekiden/async/co_spawn.hpp>
#include <ekiden/async/sleep.hpp>
#include <ekiden/async/sync_wait.hpp>
#include <ekiden/async/with_deadline.hpp>
#include <ekiden/execution/post.hpp>
#include <ekiden/execution/strand.hpp>
#include <ekiden/execution/then.hpp>
#include <ekiden/execution/work_guard.hpp>
#include <ekiden/lanes/lanes.hpp>
#include <ekiden/sim/checks.hpp>
#include <ekiden/sim/explore.hpp>
#include <ekiden/sync/mutex.hpp>
#include <ekiden/timer/steady_timer.hpp>
#include <ekiden/timer/system_timer.hpp>

#include <tests/unit/child_process.hpp>
#include <tests/unit/posix.hpp>

#include <doctest/doctest.h>

#include <chrono>
#include <cstdlib>
#include <set>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <system_error>
#include <utility>
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
            (void)l.post(7, [&keyed, i] { keyed.push_back(i); });
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
            for (int key = 0; key < 2; ++key) (void)l.post(key, [&seen, key] { seen.push_back(key); });
        }
        sim.run();
        orders.insert(seen);
    });
    CHECK_MESSAGE(result.is_clean(), result.text);
    CHECK(orders.size() == 6);
}

TEST_CASE("the delays that lanes tell are those of virtual time") {
    auto result = sim::explore(quiet(100), [](sim_context& sim) {
        const lanes<int> l(sim.get_executor(), {.delay_sampling = 1});
        steady_timer timer(sim, 1s);
        timer.async_wait([](std::error_code) {});
        std::chrono::nanoseconds waited{};
        (void)l.post(7, [&] { waited = sim.elapsed(); });
        sim.run();
        const auto delays = l.metrics().delays;
        sim::expect(delays.size() == 1, "the task is measured");
        const auto told = std::chrono::nanoseconds(delays[0].ns);
        sim::expect(told >= waited - 2us && told <= waited + 2us, "as long as it has waited");
        if (waited == 1s) sim::reached("late");
    });
    CHECK_MESSAGE(result.is_clean(), result.text);
    CHECK(result.reached["late"] > 0);
}

TEST_CASE("timers fire in virtual time, which costs none") {
    sim_context sim;
    steady_timer day(sim, 24h);
    system_timer hour(sim, 1h);
    std::vector<std::string> seen;
    day.async_wait([&](std::error_code error) {
        CHECK(error == std::errc::operation_canceled);
        seen.emplace_back("canceled");
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
    CHECK(seen == std::vector<std::string>{"hour", "canceled", "day"});
    sim.run_for(30s);
    CHECK(sim.elapsed() == 24h - 30s);
}

TEST_CASE("deadlines of the system's clock follow virtual time, and take as few steps as others") {
    sim_context sim;
    system_timer late(sim, 20h);
    bool has_fired = false;
    late.async_wait([&](std::error_code error) { has_fired = !error && sim.elapsed() == 20h; });
    CHECK(sim.run() == 2); // time moves once, then the handler runs
    CHECK(has_fired);

    const auto begin = sim.elapsed();
    promise<int> never;
    const auto result = never.get_future();
    CHECK_FALSE(result.wait_until(system_timer::now() + 1h));
    CHECK(sim.elapsed() == begin + 1h);
    co_spawn(sim, [&]() -> coroutine<> {
        co_await sleep_until(system_timer::now() + 1h);
        CHECK(sim.elapsed() == begin + 2h);
        bool is_late = false;
        try {
            co_await with_deadline(system_timer::now() + 1h,
                                   []() -> coroutine<> { co_await sleep_for(24h); });
        } catch (const std::system_error& error) {
            is_late = error.code() == std::errc::timed_out;
        }
        CHECK(is_late);
        CHECK(sim.elapsed() == begin + 3h);
    });
    sim.run();
    CHECK(sim.elapsed() == begin + 3h);
}

TEST_CASE(
    "a lock's limit that has passed in virtual time has passed, and one that has not is a call that blocks") {
    {
        const sim_context sim;
        mutex held;
        held.lock();
        CHECK_FALSE(held.try_lock_until(steady_timer::now() - 1ns));
        CHECK_FALSE(held.try_lock_until(system_timer::now() - 1ns));
        held.unlock();
    }
    for (const bool is_steady : {false, true}) {
        const auto result = sim::explore(quiet(1), [=](sim_context& other) {
            mutex taken;
            taken.lock();
            (void)(is_steady ? taken.try_lock_until(steady_timer::now() + 1h)
                             : taken.try_lock_until(system_timer::now() + 1h));
            other.run();
        });
        CHECK(result.kind == sim::verdict::blocking);
    }
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

TEST_CASE(
    "an awaited lock with a limit times out in virtual time, or is granted before, or a token ends it") {
    sim_context sim;
    mutex m;
    std::stop_source source;
    int ended = 0;
    co_spawn(sim, [&]() -> coroutine<> { // holds the lock for a long time
        const auto guard = co_await async_lock(m);
        co_await sleep_for(10h);
    });
    co_spawn(sim, [&]() -> coroutine<> {
        co_await sleep_for(1ms);
        const auto late = co_await async_try_lock_for(m, 1h);
        CHECK_FALSE(late);
        CHECK(sim.elapsed() == 1h + 1ms);
        const auto guard = co_await async_try_lock_for(m, 20h);
        CHECK(guard);
        CHECK(sim.elapsed() == 10h);
        ++ended;
    });
    co_spawn(sim, [&]() -> coroutine<> {
        co_await sleep_for(1ms);
        const auto guard = co_await async_lock(m, source.get_token());
        CHECK_FALSE(guard);
        CHECK(sim.elapsed() == 2h);
        ++ended;
    });
    co_spawn(sim, [&]() -> coroutine<> {
        co_await sleep_for(2h);
        source.request_stop();
    });
    sim.run();
    CHECK(ended == 2);
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
                const auto guard = co_await async_lock(m);
                sim::expect(++inside == 1, "one at a time");
                co_await sleep_for(std::chrono::milliseconds(i));
                --inside;
                seen.push_back(i);
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
    CHECK(sim.is_stopped());
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

TEST_CASE("what leaves run() of a simulation of its own says what has failed, and when") {
    sim_context sim;
    post(sim, [] { sim::note("a line of the program"); });
    steady_timer timer(sim, 7ms);
    timer.async_wait([](std::error_code) { sim::expect(false, "it holds"); });
    std::string said;
    try {
        sim.run();
    } catch (const std::exception& error) {
        said = error.what();
    }
    CHECK(said.find("an expectation does not hold: it holds") != std::string::npos);
    CHECK(said.find("a line of the program") != std::string::npos);
    CHECK(said.find("7 ms") != std::string::npos);
}

TEST_CASE("a failure that no call of a simulation of its own has told ends the program with it") {
    const auto ended = ekiden_test::run_in_child([] {
        sim_context sim;
        sim.run();
        const sim::exactly_once reply("the reply");
    });
    CHECK(ended.signal == SIGABRT);
    CHECK(ended.error_output.find("never done: the reply") != std::string::npos);
    const auto lost = ekiden_test::run_in_child([] {
        sim_context sim;
        post(sim, [] {});
    });
    CHECK(lost.signal == SIGABRT);
    CHECK(lost.error_output.find("context ends with tasks that it has accepted and not run")
          != std::string::npos);
    // An exception that leaves the test has already made it fail.
    const auto thrown = ekiden_test::run_in_child([] {
        try {
            sim_context sim;
            post(sim, [] {});
            throw std::runtime_error("of the test");
        } catch (const std::runtime_error&) {
            std::_Exit(4); // ignores failures of earlier cases
        }
    });
    CHECK(thrown.exit_code == 4);
}

namespace {

/// Posts to the strand in its destructor.
struct posts_at_end {
    const strand<sim_context::executor_type>* to;
    bool* was_accepted;
    posts_at_end(const strand<sim_context::executor_type>& s, bool& accepted)
        : to(&s), was_accepted(&accepted) {}
    posts_at_end(posts_at_end&& other) noexcept
        : to(std::exchange(other.to, nullptr)), was_accepted(other.was_accepted) {}
    posts_at_end& operator=(posts_at_end&&) = delete;
    ~posts_at_end() {
        if (to != nullptr) *was_accepted = to->post([] {});
    }
    void operator()() const {}
};

} // namespace

TEST_CASE("a strand of a stopped context refuses what the destructor of a refused function posts") {
    sim_context sim;
    const strand s(sim.get_executor());
    sim.stop();
    CHECK(sim.get_executor().context().refuses_tasks());
    bool was_accepted = true;
    CHECK_FALSE(s.post(posts_at_end(s, was_accepted)));
    CHECK_FALSE(was_accepted);
}
