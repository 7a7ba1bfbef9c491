/// Experiment senders: the same sender expressions on the schedulers of several libraries.
///
/// The senders are those of stdexec. Each repetition checks that each task has run exactly once.
#pragma once

#include <lab/harness/cell.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <stdexec/execution.hpp>
#include <string>
#include <utility>
#include <vector>

namespace lab::senders {

/// Calls `work()` repeatedly. Each call runs `count` tasks. Calls `check()` after each call, untimed.
template <class Work, class Check>
void repeat(cell& c, std::size_t count, Work work, Check check) {
    work();
    check();
    for (unsigned r = 0; c.again(r); ++r) {
        repetition found;
        found.used = c.measure(work);
        check();
        const auto tasks = static_cast<double>(count);
        found.figures["ns_per_task"] = found.used.wall_s * 1e9 / tasks;
        found.figures["cpu_ns"] = found.used.cpu_s() * 1e9 / tasks;
        c.report(found);
    }
}

/// One task at a time: the thread waits for each task.
template <class Scheduler>
void round_trips(cell& c, const Scheduler& on, std::size_t count) {
    std::size_t ran = 0;
    repeat(
        c, count,
        [&] {
            for (std::size_t i = 0; i != count; ++i)
                stdexec::sync_wait(stdexec::schedule(on) | stdexec::then([&ran]() noexcept { ++ran; }));
        },
        [&] {
            if (std::exchange(ran, 0) != count) c.fail("a task is missing or ran twice");
        });
}

/// All tasks are spawned in a counting_scope, and then the thread waits for the scope. A sender in a scope
/// must not fail, but the schedulers of some libraries can fail.
template <class Scheduler>
void scope(cell& c, const Scheduler& on, std::size_t count) {
    std::vector<std::uint8_t> runs(count);
    repeat(
        c, count,
        [&] {
            stdexec::counting_scope scope;
            for (std::uint8_t& one : runs)
                stdexec::spawn(stdexec::schedule(on) | stdexec::then([&one]() noexcept { ++one; })
                                   | stdexec::upon_error([](const auto&) noexcept { std::terminate(); }),
                               scope.get_token());
            stdexec::sync_wait(scope.join());
        },
        [&] {
            for (std::uint8_t& one : runs)
                if (std::exchange(one, 0) != 1) c.fail("a task is missing or ran twice");
        });
}

/// A parallel loop over numbers. `f` returns the new value of an element.
template <class Scheduler, class F>
void bulk(cell& c, const Scheduler& on, std::size_t count, F f) {
    std::vector<float> values(count);
    std::vector<float> expected(count);
    repeat(
        c, count,
        [&] {
            float* const at = values.data();
            stdexec::sync_wait(stdexec::schedule(on)
                               | stdexec::bulk(stdexec::par, count,
                                               [at, f](std::size_t i) noexcept { at[i] = f(at[i], i); }));
        },
        [&] {
            for (std::size_t i = 0; i != count; ++i) expected[i] = f(expected[i], i);
            if (values != expected) c.fail("a call is missing or was made twice");
        });
}

template <class System>
void run(cell& c) {
    System system(c);
    const std::string& variant = c.asked().variant;
    const auto on = system.scheduler();
    if (variant == "round trips")
        round_trips(c, on, c.pick(100, 20'000, 100'000));
    else if (variant == "scope")
        scope(c, on, c.pick(1000, 1'000'000, 1'000'000));
    else if (variant == "bulk")
        bulk(c, on, c.pick(1000, 1'000'000, 1'000'000), [](float value, std::size_t) { return value + 1; });
    else
        bulk(c, on, c.pick(1000, 1'000'000, 1'000'000),
             [](float value, std::size_t i) { return std::sqrt(value + static_cast<float>(i)); });
}

} // namespace lab::senders
