/// Experiment tracing: the cost of recording an event, and the cost for a program while tracing is off.
///
/// "moment" and "interval" record one event after the other on one thread. The other variants do what
/// programs do anyway, and count the nanoseconds of each: empty tasks through a pool, a lock that no other
/// thread needs, and a lock that two threads need.
#pragma once

#include <lab/harness/cell.hpp>

#include <cstddef>
#include <string>

namespace lab::tracing {

/// A system has begin() and end() of a recording, and moments(), intervals(), tasks(), locks() and
/// shared_locks(), each with a count. Functions that it lacks are not called: see `only` of the variants. A
/// system with a slowness gets that many times fewer calls.
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
