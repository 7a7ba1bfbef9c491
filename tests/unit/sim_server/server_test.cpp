// The ordered server's logic under seeds: order, limits, shutdown.
#include "serve.hpp"

#include <doctest/doctest.h>

TEST_CASE("clients that are slow, cut or gone, and an end in their middle, leave each key's numbers 1 to n") {
    auto result = ekiden::sim::explore(sim_server::options_of(500), sim_server::serve);
    CHECK_MESSAGE(result.is_clean(), result.text);
    for (const char* mark :
         {"all answered", "ended by the server", "stopped in the middle", "cut", "given up",
          "stopped during a WAIT", "lost during a WAIT", "waited for room", "run on the spot", "lost"}) {
        CAPTURE(mark);
        CHECK(result.reached[mark] > 0);
    }
}
