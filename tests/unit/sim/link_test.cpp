// A connection always keeps its order. Its faults occur, but only if they are requested.
#include "quiet.hpp"

#include <ekiden/sim/checks.hpp>
#include <ekiden/sim/explore.hpp>
#include <ekiden/sim/link.hpp>

#include <doctest/doctest.h>

#include <chrono>
#include <vector>

using namespace ekiden;
using namespace std::chrono_literals;

namespace {

/// Sends ten messages and gets their answers, over two connections.
void exchange(sim_context& sim) {
    sim_context server({.name = "server"});
    sim::link first(sim, server, "first", 1ms);
    sim::link second(sim, server, "second", 1ms);
    sim::in_order<int> there("messages");
    sim::in_order<int> back("answers");
    int arrived = 0;
    int answered = 0;
    int last = -1;
    bool overtakes = false;
    bool was_told = false;
    first.on_cut([&] { was_told = true; });
    for (int i = 0; i < 10; ++i) {
        sim::link& wire = i % 2 == 0 ? first : second;
        (void)wire.send([&, i] {
            sim::expect(sim.elapsed() >= 1ms, "it takes its time");
            there.saw(i % 2, i);
            overtakes = overtakes || i < last;
            last = i;
            ++arrived;
            (void)wire.send_back([&, i] {
                back.saw(i % 2, i);
                ++answered;
            });
        });
    }
    sim.run();
    sim::expect(was_told == first.is_cut(), "the client learns of it");
    if (overtakes) sim::reached("overtaken");
    if (arrived == 10 && answered == 10) sim::reached("all");
    if (arrived < 10) sim::reached("lost");
    if (answered < arrived) sim::reached("unanswered");
    if (first.is_cut()) sim::reached("cut");
    if (sim.elapsed() > 10ms) sim::reached("late");
}

} // namespace

TEST_CASE("without faults everything arrives, in the order of each connection") {
    auto result = sim::explore(quiet(300), exchange);
    CHECK_MESSAGE(result.is_clean(), result.text);
    CHECK(result.reached["all"] == 300);
    CHECK(result.reached["overtaken"] > 0);
}

TEST_CASE("with faults messages are late, are lost, and connections break") {
    const sim::fault_set faults{sim::fault::link_delay, sim::fault::link_drop, sim::fault::link_cut};
    auto result = sim::explore(quiet(500, faults), exchange);
    CHECK_MESSAGE(result.is_clean(), result.text);
    for (const char* mark : {"all", "overtaken", "lost", "unanswered", "cut", "late"}) {
        CAPTURE(mark);
        CHECK(result.reached[mark] > 0);
    }
}

TEST_CASE("a connection that is cut refuses, tells, and works again after its repair") {
    sim_context sim;
    sim_context server;
    sim::link wire(sim, server, "wire");
    int arrived = 0;
    int told = 0;
    wire.on_cut([&] { ++told; });
    CHECK(wire.send([&] { ++arrived; }));
    wire.cut();
    wire.cut();
    CHECK_FALSE(wire.send([&] { ++arrived; }));
    sim.run();
    CHECK(arrived == 0);
    CHECK(told == 1);
    wire.repair();
    CHECK(wire.send([&] { ++arrived; }));
    sim.run();
    CHECK(arrived == 1);
    CHECK(told == 1);
}
