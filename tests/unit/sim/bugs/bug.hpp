// Twenty typical bugs of users in small programs, each with a corrected version. A simulation must find the
// bugs and accept the corrected versions.
#pragma once

#include <ekiden/sim/checks.hpp>
#include <ekiden/sim/explore.hpp>

#include <chrono>
#include <vector>

namespace bugs {

using namespace ekiden; // NOLINT: these are programs, which are in headers only for the tests
using namespace std::chrono_literals;

/// Calls `f` in a task that comes after `hops` other tasks of one chain. So it usually runs later than
/// others.
template <class F>
void later(sim_context& sim, int hops, F f) {
    sim.get_executor().post([&sim, hops, f] {
        if (hops == 0)
            f();
        else
            later(sim, hops - 1, f);
    });
}

struct bug {
    int number;
    const char* name;
    void (*broken)(sim_context&);
    void (*repaired)(sim_context&);
    sim::verdict shown_by;
    sim::fault_set faults = {};
};

std::vector<bug> of_waiting();
std::vector<bug> of_timeouts();
std::vector<bug> of_order();
std::vector<bug> of_shutdown();
std::vector<bug> of_caches_and_locks();

inline std::vector<bug> all() {
    std::vector<bug> every;
    for (const auto part : {of_waiting, of_timeouts, of_order, of_shutdown, of_caches_and_locks}) {
        const std::vector<bug> some = part();
        every.insert(every.end(), some.begin(), some.end());
    }
    return every;
}

} // namespace bugs
