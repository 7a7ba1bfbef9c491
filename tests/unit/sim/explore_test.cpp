// What an exploration finds, reports, replays and shrinks.
#include "quiet.hpp"

#include <ekiden/async/async_event.hpp>
#include <ekiden/async/async_lock.hpp>
#include <ekiden/async/co_spawn.hpp>
#include <ekiden/async/sleep.hpp>
#include <ekiden/async/when_any.hpp>
#include <ekiden/execution/post.hpp>
#include <ekiden/execution/strand.hpp>
#include <ekiden/execution/work_guard.hpp>
#include <ekiden/sim/checks.hpp>
#include <ekiden/sim/explore.hpp>
#include <ekiden/sync/event.hpp>
#include <ekiden/sync/mutex.hpp>
#include <ekiden/timer/steady_timer.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

using namespace ekiden;
using namespace std::chrono_literals;

namespace {

bool contains(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

/// Fails if the last of many tasks runs before the first.
void overtaking(sim_context& sim) {
    std::vector<int> seen;
    for (int i = 0; i < 10; ++i) post(sim, [&seen, i] { seen.push_back(i); });
    sim.run();
    sim::expect(seen.front() != 9, "the last one is not the first");
}

} // namespace

TEST_CASE("a wrong result is found, made smaller, and found again by its replay") {
    const auto result = sim::explore(quiet(1000), overtaking);
    REQUIRE_FALSE(result.is_clean());
    CHECK(result.kind == sim::verdict::expectation);
    CHECK(contains(result.why, "the last one is not the first"));
    CHECK(result.shrunk_choices == 1); // one task runs out of order
    CHECK(result.choices >= result.shrunk_choices);
    CHECK(contains(result.text, "replay"));

    const auto again = sim::replay(result.replay, overtaking, quiet(1));
    CHECK(again.kind == result.kind);
    CHECK(again.why == result.why);
    CHECK(again.replay == result.replay);
    // The seed alone leads to the same failure.
    auto one = quiet(1);
    one.first = result.seed;
    CHECK(sim::explore(one, overtaking).replay == result.replay);
    CHECK_THROWS_AS((void)sim::replay("no tape", overtaking, quiet(1)), std::invalid_argument);
    CHECK_THROWS_AS((void)sim::replay("1;0;s1,x", overtaking, quiet(1)), std::invalid_argument);
    CHECK(sim::replay("1;0", overtaking, quiet(1)).is_clean()); // the dull run
}

TEST_CASE("each scheduler finds it") {
    for (const auto kind :
         {sim::scheduler::random, sim::scheduler::priorities, sim::scheduler::delay_bounded}) {
        const auto swapped = [](sim_context& sim) {
            bool is_set = false;
            post(sim, [&] { is_set = true; });
            post(sim, [&] { sim::expect(is_set, "the first one is first"); });
            sim.run();
        };
        auto chosen = quiet(1000);
        chosen.only = kind;
        const auto result = sim::explore(chosen, swapped);
        CHECK(result.kind == sim::verdict::expectation);
        CHECK(result.found_by == kind);
    }
}

TEST_CASE("all schedules up to a bound are run, each once") {
    std::vector<std::vector<int>> orders;
    const auto three = [&](sim_context& sim) {
        std::vector<int> seen;
        for (int i = 0; i < 3; ++i) post(sim, [&seen, i] { seen.push_back(i); });
        sim.run();
        orders.push_back(seen);
    };
    auto result = sim::explore_all(2, three, quiet(100));
    CHECK(result.is_complete);
    CHECK(result.runs == 6);
    std::sort(orders.begin(), orders.end());
    CHECK(std::unique(orders.begin(), orders.end()) == orders.end());

    result = sim::explore_all(1, three, quiet(100));
    CHECK(result.is_complete);
    CHECK(result.runs == 4); // 0 1 2, 0 2 1, 1 0 2, 2 0 1
    result = sim::explore_all(2, three, quiet(3));
    CHECK_FALSE(result.is_complete);
    CHECK(sim::explore_all(1, overtaking, quiet(1000)).kind == sim::verdict::expectation);
}

TEST_CASE("a deadlock says which coroutines wait, and where") {
    const auto transfer = [](sim_context& sim) {
        mutex a;
        mutex b;
        const auto both = [&](mutex& first, mutex& second) -> coroutine<> {
            const auto outer = co_await async_lock(first);
            co_await sleep_for(1ms);
            const auto inner = co_await async_lock(second);
        };
        co_spawn(sim, both(a, b));
        co_spawn(sim, both(b, a));
        sim.run();
    };
    const auto result = sim::explore(quiet(1000), transfer);
    CHECK(result.kind == sim::verdict::stuck);
    CHECK(contains(result.text, "explore_test.cpp"));
    CHECK(contains(result.text, "at line"));
    CHECK(contains(result.text, "2 outstanding work"));
}

TEST_CASE("work that was announced and does not end is stuck, and time that ends nothing is no progress") {
    const auto guarded = [](sim_context& sim) {
        const auto guard = make_work_guard(sim.get_executor());
        sim.run();
    };
    CHECK(sim::explore(quiet(1), guarded).kind == sim::verdict::stuck);
    const auto ticking = [](sim_context& sim) {
        steady_timer timer(sim);
        std::function<void()> tick = [&] {
            timer.expires_after(1s);
            timer.async_wait([&](std::error_code error) {
                if (!error) tick();
            });
        };
        tick();
        sim.run();
    };
    auto limited = quiet(1);
    limited.max_steps = 1000;
    CHECK(sim::explore(limited, ticking).kind == sim::verdict::no_progress);
    limited = quiet(1);
    limited.max_time = 1min;
    CHECK(sim::explore(limited, ticking).kind == sim::verdict::no_progress);
}

TEST_CASE("a call that blocks the thread is named, with the task that makes it and where") {
    const auto waits = [](sim_context& sim) {
        mutex m;
        m.lock();
        post(sim, [&] { m.lock(); });
        sim.run();
    };
    auto result = sim::explore(quiet(1), waits);
    CHECK(result.kind == sim::verdict::blocking);
    CHECK(contains(result.why, "mutex"));
    CHECK(contains(result.text, "called from"));

    promise<int> never;
    const auto asks = [&](sim_context& sim) {
        auto given = sim.get_executor().submit([] { return 1; });
        post(sim, [&] { (void)given.get(); });
        sim.run();
    };
    auto chosen = quiet(1000);
    result = sim::explore(chosen, asks);
    CHECK(result.kind == sim::verdict::blocking); // with a seed in which it runs first
    CHECK(contains(result.why, "a result"));
}

TEST_CASE("in a context that helps a task can wait for another one, but not for itself") {
    const auto helped = [](sim_context&) {
        sim_context pool({.name = "pool", .helps = true});
        auto given = pool.get_executor().submit([] { return 1; });
        int got = 0;
        post(pool, [&] { got = given.get(); });
        pool.run();
        sim::expect(got == 1, "it got it");
    };
    CHECK(sim::explore(quiet(100), helped).is_clean());
    const auto circle = [](sim_context&) {
        sim_context pool({.name = "pool", .helps = true});
        std::optional<future<void>> own;
        own = pool.get_executor().submit([&] { own->get(); });
        pool.run();
    };
    const auto result = sim::explore(quiet(1), circle);
    CHECK(result.kind == sim::verdict::stuck);
    CHECK(contains(result.why, "a result that nobody brings"));
}

TEST_CASE("an exception of a handler and of the test is found") {
    auto result = sim::explore(quiet(1), [](sim_context& sim) {
        post(sim, [] { throw std::runtime_error("of a handler"); });
        sim.run();
    });
    CHECK(result.kind == sim::verdict::exception);
    CHECK(contains(result.why, "of a handler"));
    result = sim::explore(quiet(1), [](sim_context& sim) {
        co_spawn(sim, []() -> coroutine<> {
            throw std::runtime_error("of a coroutine");
            co_return;
        });
        sim.run();
    });
    CHECK(result.kind == sim::verdict::exception);
    CHECK(contains(result.why, "of a coroutine"));
    result = sim::explore(quiet(1), [](sim_context&) { throw std::runtime_error("of the test"); });
    CHECK(contains(result.why, "of the test"));
    result = sim::explore(quiet(1), [](sim_context& sim) { post(sim, [] {}); });
    CHECK(result.kind == sim::verdict::lost); // no task was run
}

TEST_CASE("a test that something else than the seed decides is told the first step that differs") {
    int calls = 0;
    const auto moody = [&](sim_context& sim) {
        const bool is_odd = ++calls % 2 != 0;
        post(sim, [] {});
        if (is_odd) post(sim, [] { sim::note("odd"); });
        sim.run();
    };
    const auto result = sim::explore(quiet(1), moody);
    CHECK(result.kind == sim::verdict::irreproducible);
    CHECK(contains(result.text, "first run"));
    CHECK(contains(result.text, "the end"));
}

TEST_CASE("what must happen once is found missing, twice, and at the end of its owner") {
    auto result = sim::explore(quiet(1), [](sim_context& sim) {
        sim::exactly_once reply("the reply");
        sim.run();
    });
    CHECK(result.kind == sim::verdict::stuck);
    CHECK(contains(result.text, "not done: the reply"));
    result = sim::explore(quiet(1), [](sim_context& sim) {
        sim::exactly_once reply("the reply");
        for (int i = 0; i < 2; ++i) post(sim, [&] { reply.done(); });
        sim.run();
    });
    CHECK(result.kind == sim::verdict::count);
    result = sim::explore(quiet(1), [](sim_context& sim) {
        {
            const sim::exactly_once reply("the reply");
        }
        sim.run();
    });
    CHECK(result.kind == sim::verdict::lost);
    result = sim::explore(quiet(1), [](sim_context& sim) {
        sim::exactly_once reply("the reply");
        post(sim, [&] { reply.done(); });
        sim.run();
    });
    CHECK(result.is_clean());
}

TEST_CASE("a reply that is lost with an exception which the program catches is found") {
    const auto loses = [] {
        try {
            const sim::exactly_once reply("the reply");
            throw std::runtime_error("of the backend");
        } catch (const std::runtime_error&) { // no reply is sent
        }
    };
    auto result = sim::explore(quiet(1), [&](sim_context& sim) {
        post(sim, loses);
        post(sim, [] { sim::note("the program goes on"); });
        sim.run();
    });
    CHECK(result.kind == sim::verdict::lost);
    CHECK(contains(result.why, "never done: the reply"));
    CHECK_FALSE(contains(result.text, "the program goes on"));
    result = sim::explore(quiet(1), [&](sim_context& sim) {
        sim.run();
        loses();
    });
    CHECK(result.kind == sim::verdict::lost);
    result = sim::explore(quiet(1), [&](sim_context& sim) {
        co_spawn(sim, []() -> coroutine<> {
            const auto asks = []() -> coroutine<> {
                const sim::exactly_once reply("the reply");
                co_await sleep_for(1ms);
                throw std::runtime_error("of the backend");
            };
            try {
                co_await asks();
            } catch (const std::runtime_error&) { // no reply is sent
            }
        });
        sim.run();
    });
    CHECK(result.kind == sim::verdict::lost);
    result = sim::explore(quiet(1), [&](sim_context& sim) {
        const auto given = sim.get_executor().submit([] {
            const sim::exactly_once reply("the reply");
            throw std::runtime_error("of the backend");
        });
        sim.run();
    });
    CHECK(result.kind == sim::verdict::lost);
}

TEST_CASE("work that is lost with an exception which the program catches is found") {
    const auto result = sim::explore(quiet(1), [](sim_context& sim) {
        try {
            sim_context pool({.name = "pool"});
            post(pool, [] {});
            throw std::runtime_error("of the program");
        } catch (const std::runtime_error&) {
        }
        sim.run();
    });
    CHECK(result.kind == sim::verdict::lost);
    CHECK(contains(result.why, "pool ends with tasks"));
}

TEST_CASE("an exception that nothing catches is what has failed, not the reply that is lost with it") {
    const auto throws = [] {
        const sim::exactly_once reply("the reply");
        throw std::runtime_error("of the backend");
    };
    auto result = sim::explore(quiet(1), [&](sim_context& sim) {
        post(sim, throws);
        sim.run();
    });
    CHECK(result.kind == sim::verdict::exception);
    CHECK(contains(result.why, "of the backend"));
    result = sim::explore(quiet(1), [&](sim_context&) { throws(); });
    CHECK(result.kind == sim::verdict::exception);
    CHECK(contains(result.why, "of the backend"));
}

TEST_CASE("order and life are checked") {
    auto result = sim::explore(quiet(1000), [](sim_context& sim) {
        sim::in_order<int> seen("replies");
        for (int i = 0; i < 3; ++i) post(sim, [&seen, i] { seen.saw(7, i); });
        sim.run();
    });
    CHECK(result.kind == sim::verdict::order);
    result = sim::explore(quiet(1), [](sim_context& sim) {
        auto owner = std::make_unique<sim::life>("the owner");
        post(sim, [alive = owner->watched()] { alive.expect_alive(); });
        owner.reset();
        sim.run();
    });
    CHECK(result.kind == sim::verdict::dead);
    CHECK(contains(result.why, "the owner"));
}

TEST_CASE("a context that ends with tasks has lost them, unless it was stopped") {
    const auto ends = [](bool stops) {
        return [stops](sim_context& sim) {
            std::optional<sim_context> pool(std::in_place, sim_context::options{.name = "pool"});
            post(*pool, [] {});
            if (stops) pool->stop();
            pool.reset();
            sim.run();
        };
    };
    CHECK(sim::explore(quiet(1), ends(false)).kind == sim::verdict::lost);
    CHECK(sim::explore(quiet(1), ends(true)).is_clean());
}

TEST_CASE("others run at a point in the middle of a step") {
    const auto reads_twice = [](sim_context& sim) {
        int value = 0;
        post(sim, [&] {
            const int before = value;
            sim::point();
            sim::expect(value == before, "nobody came in between");
        });
        post(sim, [&] { ++value; });
        sim.run();
    };
    CHECK(sim::explore(quiet(1000), reads_twice).kind == sim::verdict::expectation);
    sim::point(); // has no effect outside a simulation
}

TEST_CASE("faults come when they are asked for, and not otherwise") {
    const auto test = [](sim_context& sim) {
        bool is_late = false;
        steady_timer timer(sim, 1ms);
        timer.async_wait([&](std::error_code) { is_late = sim.elapsed() > 1ms; });
        bool has_thrown = false;
        bool has_failed = false;
        bool has_no_memory = false;
        bool has_ended = false;
        sim::at_any_time("the end", [&] { has_ended = true; });
        const auto work = [&] {
            try {
                sim::may_throw("a mark");
            } catch (const sim::injected_fault&) {
                has_thrown = true;
            }
            has_failed = sim::may_fail("another mark");
            try {
                (void)std::vector<int, sim::allocator<int>>(3);
            } catch (const std::bad_alloc&) {
                has_no_memory = true;
            }
        };
        try {
            post(sim, work);
        } catch (const std::bad_alloc&) {
            sim::reached("no room for a task");
        }
        sim.run();
        if (is_late) sim::reached("late");
        if (has_thrown) sim::reached("thrown");
        if (has_failed) sim::reached("failed");
        if (has_no_memory) sim::reached("no memory");
        if (has_ended) sim::reached("ended");
    };
    auto result = sim::explore(quiet(300), test);
    CHECK(result.is_clean());
    CHECK(result.reached.count("thrown") == 0);
    CHECK(result.reached.count("ended") == 0);
    auto all = quiet(300, sim::fault_set::all());
    result = sim::explore(all, test);
    CHECK_MESSAGE(result.is_clean(), result.text);
    for (const char* mark : {"no room for a task", "late", "thrown", "failed", "no memory", "ended"})
        CHECK_MESSAGE(result.reached[mark] > 0, mark);
}

TEST_CASE("a run without progress is made as small as any other failure") {
    const auto loops_if_swapped = [](sim_context& sim) {
        std::vector<int> seen;
        steady_timer timer(sim);
        std::function<void()> tick = [&] {
            timer.expires_after(std::chrono::milliseconds(1 + sim::choose(100)));
            timer.async_wait([&](std::error_code) { tick(); });
        };
        for (int i = 0; i < 10; ++i) {
            post(sim, [&, i] {
                seen.push_back(i);
                if (seen.size() == 10 && seen.front() != 0) tick();
            });
        }
        sim.run();
    };
    auto chosen = quiet(100);
    chosen.max_steps = 300;
    const auto result = sim::explore(chosen, loops_if_swapped);
    CHECK(result.kind == sim::verdict::no_progress);
    CHECK(result.choices > 20);
    CHECK(result.shrunk_choices == 1); // which task runs first
    CHECK(contains(result.text, "300 steps"));
}

TEST_CASE("the last seeds that there are, are run, each once") {
    auto chosen = quiet(10);
    chosen.first = std::numeric_limits<std::uint64_t>::max() - 2;
    chosen.check_every = 0;
    const auto result = sim::explore(chosen, [](sim_context& sim) { sim.run(); });
    CHECK(result.is_clean());
    CHECK(result.runs == 3);
}

namespace {

coroutine<int> coroutine_with(int value) { co_return value; }

/// Chooses which member of a when_any() is first.
coroutine<void> choose_one(std::vector<int>& seen) {
    const auto first = co_await when_any(coroutine_with(0), coroutine_with(1), coroutine_with(2));
    seen.push_back(static_cast<int>(first.index()));
    std::vector<coroutine<int>> members;
    for (int i = 0; i != 3; ++i) members.push_back(coroutine_with(i));
    const auto second = co_await when_any(std::move(members));
    seen.push_back(static_cast<int>(second.index));
}

} // namespace

TEST_CASE("the seed alone decides which member of a when_any begins first") {
    std::set<std::vector<int>> outcomes;
    sim::options chosen = quiet(100);
    chosen.check_every = 1;
    const auto result = sim::explore(chosen, [&](sim_context& sim) {
        std::vector<int> seen;
        co_spawn(sim.get_executor(), [&seen] { return choose_one(seen); });
        sim.run();
        for (int i = 0; i != seen.front() + 3 * seen.back(); ++i) { // a different number of steps
            post(sim, [] {});
            sim.run();
        }
        outcomes.insert(seen);
    });
    CHECK(result.is_clean());
    CHECK(outcomes.size() == 9);
}

TEST_CASE("options that are out of range are refused before anything runs") {
    int calls = 0;
    const auto test = [&](sim_context&) { ++calls; };
    sim::options no_steps;
    no_steps.max_steps = 0;
    sim::options no_time;
    no_time.max_time = -5ns;
    sim::options no_watch;
    no_watch.watch = -1ms;
    CHECK_THROWS_WITH_AS((void)sim::explore(no_steps, test),
                         "sim::options: max_steps is 0, allowed is 1 or more", std::invalid_argument);
    CHECK_THROWS_WITH_AS((void)sim::explore_all(1, test, no_time),
                         "sim::options: max_time is -5 ns, allowed is 1 ns or more", std::invalid_argument);
    CHECK_THROWS_WITH_AS((void)sim::replay("", test, no_watch),
                         "sim::options: watch is -1 ms, allowed is 0 ms (none) or more",
                         std::invalid_argument);
    CHECK_THROWS_WITH_AS(sim_context(7, {}, no_steps), "sim::options: max_steps is 0, allowed is 1 or more",
                         std::invalid_argument);
    CHECK(calls == 0);
}

TEST_CASE("the calls of a bulk may begin in another order than that of their numbers") {
    const auto result = sim::explore(quiet(1000), [](sim_context& sim) {
        std::vector<std::size_t> seen;
        sim.get_executor().post_bulk(5, [&seen](std::size_t i) { seen.push_back(i); });
        sim.run();
        sim::expect(seen.size() == 5 && seen.back() != 1, "the second call does not begin last");
    });
    CHECK_FALSE(result.is_clean());
}
