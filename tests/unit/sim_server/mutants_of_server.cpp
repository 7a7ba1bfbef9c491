// Shows that the simulation of the ordered server can fail: it finds each mutant of the server's logic.
#include "serve.hpp"

#include <doctest/doctest.h>

#include <string>

namespace sim_server {
int mutant = -1;
} // namespace sim_server

namespace {

constexpr const char* names[] = {
#include "mutants.inc"
};

} // namespace

TEST_CASE("each mutant of the server's logic is found") {
    ekiden::sim::options chosen = sim_server::options_of(5000);
    chosen.max_shrinks = 0;
    sim_server::mutant = 0;
    for (const std::string name : names) {
        const auto found = ekiden::sim::explore(chosen, sim_server::serve);
        ++sim_server::mutant;
        CHECK_MESSAGE(!found.is_clean(), name);
        MESSAGE(name << ": seed " << found.seed << ", " << found.why);
    }
}

TEST_CASE("with none of them switched on nothing is found") {
    sim_server::mutant = -1;
    const auto found = ekiden::sim::explore(sim_server::options_of(100), sim_server::serve);
    CHECK_MESSAGE(found.is_clean(), found.text);
}
