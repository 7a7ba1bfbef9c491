// A connection always keeps its order. Its faults occur, but only if they are requested.
#include "quiet.hpp"

#include <ekiden/sim/checks.hpp>
#include <ekiden/sim/explore.hpp>
#include <ekiden/sim/link.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <memory>
#include <utility>
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

TEST_CASE("a repeated message arrives twice, and later messages can overtake it") {
    const auto send_three = [](sim_context& sim) {
        sim_context server({.name = "server"});
        sim::link wire(sim, server, "wire", 1ms);
        std::vector<int> arrived;
        auto once = std::make_unique<int>(7); // such a message cannot be copied
        for (int i = 0; i < 3; ++i) CHECK(wire.send([&arrived, i] { arrived.push_back(i); }));
        CHECK(wire.send([&arrived, only = std::move(once)] { arrived.push_back(*only); }));
        sim.run();
        for (const int sent : {0, 1, 2}) {
            const auto count = std::count(arrived.begin(), arrived.end(), sent);
            sim::expect(count == 1 || count == 2, "a message arrives once or twice");
            if (count == 2) sim::reached("twice");
        }
        sim::expect(std::count(arrived.begin(), arrived.end(), 7) == 1, "it is not copied");
        const auto last = std::find(arrived.rbegin(), arrived.rend(), 0);
        if (std::find(arrived.rbegin(), last, 2) != last) sim::reached("overtaken");
        const auto is_new = [&](std::size_t i) {
            return std::find(arrived.begin(), arrived.begin() + static_cast<std::ptrdiff_t>(i), arrived[i])
                   == arrived.begin() + static_cast<std::ptrdiff_t>(i);
        };
        int newest = -1;
        for (std::size_t i = 0; i != arrived.size(); ++i) {
            if (!is_new(i)) continue;
            if (arrived[i] < newest) sim::reached("repeated before the first");
            newest = arrived[i];
        }
    };
    const sim::fault_set faults{sim::fault::duplicate, sim::fault::link_delay};
    auto result = sim::explore(quiet(500, faults), send_three);
    CHECK_MESSAGE(result.is_clean(), result.text);
    CHECK(result.reached["twice"] > 0);
    CHECK(result.reached["overtaken"] > 0);
    auto none = sim::explore(quiet(200, {sim::fault::link_delay}), send_three);
    CHECK_MESSAGE(none.is_clean(), none.text);
    CHECK(none.reached["twice"] == 0);
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
