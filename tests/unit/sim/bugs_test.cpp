// The seeded bugs are found and classified correctly. The corrected versions are clean.
#include "bugs/bug.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace ekiden;

namespace {

sim::options for_bug(const bugs::bug& one, std::uint64_t seeds) {
    sim::options chosen;
    chosen.seeds = seeds;
    chosen.faults = one.faults;
    chosen.prints = false;
    return chosen;
}

} // namespace

TEST_CASE("each of the seeded bugs is found within 1000 seeds, as what it is, and its replay shows it") {
    for (const bugs::bug& one : bugs::all()) {
        CAPTURE(one.number);
        const auto result = sim::explore(for_bug(one, 1000), one.broken);
        CHECK_MESSAGE(result.kind == one.shown_by, one.name << ": " << result.text);
        CHECK(result.shrunk_choices <= result.choices);
        const auto again = sim::replay(result.replay, one.broken, for_bug(one, 1));
        CHECK(again.why == result.why);
    }
}

TEST_CASE("the dull run shows none of them") {
    for (const bugs::bug& one : bugs::all()) {
        const auto result = sim::explore(for_bug(one, 1), one.broken);
        CHECK_MESSAGE(result.is_clean(), one.name << ": " << result.text);
    }
}

TEST_CASE("a repaired program is clean with 2000 seeds, and with faults that it did not ask for") {
    for (const bugs::bug& one : bugs::all()) {
        auto result = sim::explore(for_bug(one, 2000), one.repaired);
        CHECK_MESSAGE(result.is_clean(), one.name << ": " << result.text);
        auto late = for_bug(one, 200);
        late.faults = sim::fault_set::of_bits(
            one.faults.bits() | sim::fault_set{sim::fault::late_task, sim::fault::late_timer}.bits());
        result = sim::explore(late, one.repaired);
        CHECK_MESSAGE(result.is_clean(), one.name << ", with delays: " << result.text);
    }
}
