// Shows that the simulation of the Kafka worker can fail: it finds each mutant of the worker's logic.
#include "consume.hpp"

#include <doctest/doctest.h>

#include <string>

namespace sim_kafka {
int mutant = -1;
} // namespace sim_kafka

namespace {

constexpr const char* names[] = {
#include "mutants.inc"
};

/// Runs the three tests until one of them fails.
ekiden::sim::report find(std::uint64_t seeds) {
    ekiden::sim::options chosen = sim_kafka::options_of(100);
    chosen.max_shrinks = 0;
    chosen.check_every = 0;
    chosen.seeds = seeds;
    ekiden::sim::report found = ekiden::sim::explore(chosen, sim_kafka::consume);
    chosen.seeds = 100;
    if (found.is_clean()) found = ekiden::sim::explore(chosen, sim_kafka::refuse);
    chosen.faults = {};
    if (found.is_clean()) found = ekiden::sim::explore(chosen, sim_kafka::stick);
    return found;
}

} // namespace

TEST_CASE("each mutant of the worker's logic is found within 1,000 seeds") {
    sim_kafka::mutant = 0;
    for (const std::string name : names) {
        const auto found = find(1000);
        ++sim_kafka::mutant;
        CHECK_MESSAGE(!found.is_clean(), name);
        MESSAGE(name << ": seed " << found.seed << ", " << found.why);
    }
}

TEST_CASE("with none of them switched on nothing is found") {
    sim_kafka::mutant = -1;
    const auto found = find(100);
    CHECK_MESSAGE(found.is_clean(), found.text);
}
