/// Experiment tracing: what it costs to record an event, and what a program pays whose tracing is off.
///
/// "moment" and "interval" record one after the other on one thread. The others do what a program does anyway
/// - empty tasks through a pool, a lock that nobody else wants, one that two threads want - and count the
/// nanoseconds of each.
#pragma once

#include <lab/harness/cell.hpp>

#include <cstddef>
#include <string>

namespace lab::tracing {

/// A system has begin() and end() of a recording, and moments(), intervals(), tasks(), locks() and
/// shared_locks(), each so many times. Those that it lacks are not asked for: see `only` of the variants. One
/// with a slowness gets so many times fewer.
template <class System>
void run(cell& c) {
    std::size_t count = c.pick(10'000, 2'000'000, 10'000'000);
    if constexpr (requires { System::slowness; }) count /= c.pick(1, System::slowness, System::slowness);
    System system(c);
    const std::string& variant = c.asked().variant;
    const auto work = [&](std::size_t n) {
        if constexpr (requires { system.moments(n); }) {
            if (variant == "moment") system.moments(n);
            if (variant == "interval") system.intervals(n);
        }
        if constexpr (requires { system.tasks(n); }) {
            if (variant == "task") system.tasks(n);
            if (variant == "lock") system.locks(n);
            if (variant == "shared-lock") system.shared_locks(n);
        }
    };
    system.begin();
    work(count / 10); // warm
    for (unsigned done = 0; c.again(done); ++done) {
        repetition now;
        now.used = c.measure([&] { work(count); });
        now.figures["ns_per_event"] = now.used.wall_s * 1e9 / static_cast<double>(count);
        c.report(now);
    }
    system.end();
    system.verify(c);
}

} // namespace lab::tracing
