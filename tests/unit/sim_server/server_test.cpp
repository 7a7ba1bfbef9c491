// The ordered server's logic under seeds: its order, its limits, its end.
#include "serve.hpp"

#include "../effort.hpp"

#include <doctest/doctest.h>

TEST_CASE("clients that are slow, cut or gone, and an end in their middle, leave each key's numbers 1 to n") {
    const auto seeds = static_cast<std::uint64_t>(ekiden_test::rounds(500));
    auto result = ekiden::sim::explore(sim_server::options_of(seeds), sim_server::serve);
    CHECK_MESSAGE(result.is_clean(), result.text);
    for (const char* mark : {"all answered", "ended by the server", "stopped in the middle", "cut",
                             "given up", "waited for room", "run on the spot", "lost"}) {
        CAPTURE(mark);
        CHECK(result.reached[mark] > 0);
    }
}
