// The logic of the Kafka worker under seeds: nothing lost, order per key, commits only by owners.
#include "../effort.hpp"
#include "cluster.hpp"
#include "consume.hpp"

#include <doctest/doctest.h>

#include <memory>

namespace {

using ekiden_test::is_sanitized;

/// A member of the group that counts its partitions.
struct counting_port final : sim_kafka::member_port {
    void revoke(std::uint64_t, std::int32_t, std::vector<std::int32_t> what) override { held -= what.size(); }
    void assign(std::uint64_t, std::int32_t, std::vector<std::int32_t> what) override { held += what.size(); }
    std::size_t held = 0;
};

} // namespace

TEST_CASE("workers that are killed, stopped and moved handle each record, once per commit, in order") {
    auto result = ekiden::sim::explore(sim_kafka::options_of(is_sanitized ? 300 : 1000), sim_kafka::consume);
    CHECK_MESSAGE(result.is_clean(), result.text);
    for (const char* mark :
         {"exactly once", "at least once", "killed", "moved", "lost", "a session has expired",
          "a process was stopped and has continued", "closed cleanly", "dead letters", "handled again",
          "an outcome was unknown", "a transaction has expired", "a stalled connection has continued"}) {
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
    auto chosen = sim_kafka::options_of(is_sanitized ? 30 : 100);
    chosen.faults = {};
    auto result = ekiden::sim::explore(chosen, sim_kafka::stick);
    CHECK_MESSAGE(result.is_clean(), result.text);
    CHECK(result.reached["stuck"] == result.runs);
}

// This seed did not end while the simulated group let a member enter before the process knew its name.
TEST_CASE("seed 9124: workers whose requests to join were late for an hour get all partitions") {
    auto chosen = sim_kafka::options_of(1);
    chosen.first = 9124;
    const auto result = ekiden::sim::explore(chosen, sim_kafka::consume);
    CHECK_MESSAGE(result.is_clean(), result.text);
}

TEST_CASE("a member that has a name but has not entered the simulated group owns no partition") {
    const auto result = ekiden::sim::explore(1, [](ekiden::sim_context& broker) {
        using ekiden::sim::expect;
        sim_kafka::cluster group(broker, 3);
        const auto late = std::make_shared<counting_port>();
        const auto prompt = std::make_shared<counting_port>();
        const std::uint64_t forgotten = group.new_member();
        const std::uint64_t member = group.new_member();
        expect(group.join(member, prompt) && prompt->held == 3, "the member in the group owns everything");
        expect(!group.heartbeat(forgotten) && group.heartbeat(member), "only a member that entered is alive");
        group.leave(forgotten);
        expect(!group.join(forgotten, late) && late->held == 0, "a name that was given up cannot enter");
        expect(group.join(member, prompt) && prompt->held == 3, "a repeated request changes nothing");
    });
    CHECK_MESSAGE(result.is_clean(), result.text);
}
