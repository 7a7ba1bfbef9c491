/// Options of an exploration that prints nothing, for tests.
#pragma once

#include <ekiden/sim/explore.hpp>

#include <cstdint>

inline ekiden::sim::options quiet(std::uint64_t seeds, ekiden::sim::fault_set faults = {}) {
    ekiden::sim::options chosen;
    chosen.seeds = seeds;
    chosen.faults = faults;
    chosen.prints = false;
    return chosen;
}
