// The checker's memory model, compared with an enumerator of C++20's axioms that shares nothing with it.
#include <check/differential/comparison.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace differential = ekiden::check::differential;

TEST_CASE("differential: the checker explores what C++20 allows, and nothing else, in random programs") {
    bool more = false;
    for (std::uint64_t seed = 1; seed <= 250; ++seed) {
        const differential::comparison c = differential::compare(seed);
        CAPTURE(c.report);
        REQUIRE(c.same);
        more = more || c.more_in_cpp;
    }
    CHECK(more); // the limit that the checker's page names
}

TEST_CASE("differential: an engine without one of its parts is noticed") {
    struct left_out {
        std::string_view part;
        std::uint64_t first; // seed: some are noticed by one program in many hundreds
    };
    for (const left_out& it :
         {left_out{"release sequences", 100}, left_out{"modification order", 1},
          left_out{"acquire fences", 50}, left_out{"order of fences", 700},
          left_out{"order of seq_cst loads", 1}, left_out{"conflicts of the reduction", 1}}) {
        CAPTURE(it.part);
        std::uint64_t seed = it.first;
        while (seed < it.first + 100 && differential::compare(seed, it.part).same) ++seed;
        CHECK(seed < it.first + 100);
    }
}

TEST_CASE("differential: a seed stands for one program, and its report names both sets") {
    const differential::comparison c = differential::compare(7);
    CHECK(c.report == differential::compare(7).report);
    CHECK(c.report.find("seed 7\n") == 0);
    CHECK(c.report.find("allowed but not explored:\n    none") != std::string::npos);
}
