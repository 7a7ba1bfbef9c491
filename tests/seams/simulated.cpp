/// Programs in virtual time. Each runs with several schedules, which its seed chooses, on one thread.
#include "world.hpp"

#include <chrono>
#include <string>

namespace seams {

namespace {

/// The actions of a driver are steps of a separate context, one after the other.
struct driver {
    world& in;
    ekiden::sim_context& control;
    unsigned number;

    void go(std::size_t next) const {
        const std::vector<action>& all = in.of.drivers[number];
        if (next == all.size()) return;
        control.get_executor().post([self = *this, next, &all] {
            act({self.in, nullptr, static_cast<int>(self.number)}, std::span(&all[next], 1));
            self.go(next + 1);
        });
    }
};

void run_once(const plan& p, ekiden::sim_context& control) {
    world w(p);
    for (unsigned i = 0; i != p.drivers.size(); ++i) driver{w, control, i}.go(0);
    if (!p.is_graceful) { // some contexts stop while work is pending
        control.run_for(std::chrono::microseconds(p.end_order % 300));
        for (context_slot& c : w.contexts)
            if (!c.of.is_graceful) c.stop();
    }
    control.run();
    w.quiesce();
    w.end();
}

} // namespace

void run_simulated(const plan& p) {
    constexpr unsigned schedules = 8;
    ekiden::sim::options o;
    o.first = p.seed;
    o.seeds = schedules;
    o.check_every = schedules; // one of the schedules runs twice
    o.faults = {ekiden::sim::fault::late_task, ekiden::sim::fault::late_timer};
    o.max_shrinks = 0; // actions are masked instead
    o.watch = std::chrono::milliseconds(0);
    o.prints = false;
    const auto once = [&p](ekiden::sim_context& control) { run_once(p, control); };
    const ekiden::sim::report found = ekiden::sim::explore(o, once);
    if (!found.is_clean())
        fail(("in a simulation: " + found.why + ": actions in their order:\n" + found.text).c_str());
}

} // namespace seams
