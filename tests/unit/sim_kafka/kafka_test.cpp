// The logic of the Kafka worker under seeds: nothing lost, order per key, commits only by owners.
#include "consume.hpp"

#include <doctest/doctest.h>

TEST_CASE("workers that are killed, stopped and moved handle each record, once per commit, in order") {
    auto result = ekiden::sim::explore(sim_kafka::options_of(1000), sim_kafka::consume);
    CHECK_MESSAGE(result.is_clean(), result.text);
    for (const char* mark :
         {"exactly once", "at least once", "killed", "moved", "lost", "a session has expired",
          "a process was stopped and has continued", "closed cleanly", "dead letters", "handled again",
          "an outcome was unknown", "a transaction has expired"}) {
        CAPTURE(mark);
        CHECK(result.reached[mark] > 0);
    }
}

TEST_CASE("a partition with metadata of another program or a newer version does not start") {
    auto result = ekiden::sim::explore(sim_kafka::options_of(100), sim_kafka::refuse);
    CHECK_MESSAGE(result.is_clean(), result.text);
    CHECK(result.reached["refused"] == result.runs);
}

TEST_CASE("behind a record that is stuck, other keys continue to the end of the window") {
    auto chosen = sim_kafka::options_of(100);
    chosen.faults = {};
    auto result = ekiden::sim::explore(chosen, sim_kafka::stick);
    CHECK_MESSAGE(result.is_clean(), result.text);
    CHECK(result.reached["stuck"] == result.runs);
}
