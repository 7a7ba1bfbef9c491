// A process crashes at any moment, starts again later, and may crash again.
#include "quiet.hpp"

#include <ekiden/sim/checks.hpp>
#include <ekiden/sim/explore.hpp>
#include <ekiden/timer/steady_timer.hpp>

#include <doctest/doctest.h>

#include <chrono>
#include <memory>
#include <system_error>

using namespace ekiden;
using namespace std::chrono_literals;

namespace {

/// A process that writes the numbers 1 to 5 to a disk, one per millisecond. After a crash, it continues.
struct process {
    explicit process(int& d) : disk(d) { next(); }
    ~process() { place.stop(); }
    void next() {
        if (disk == 5) return;
        timer.expires_after(1ms);
        timer.async_wait([this](std::error_code canceled) {
            if (canceled) return;
            ++disk;
            next();
        });
    }

    int& disk;
    sim_context place{{.name = "process"}};
    steady_timer timer{place};
};

/// `is_right` is false for a process that does not start its work again.
void write_all(sim_context& sim, bool is_right) {
    int disk = 0;
    int crashes = 0;
    auto running = std::make_unique<process>(disk);
    sim::crash_and_restart(
        "the process",
        [&] {
            sim::expect(running != nullptr, "a process that has crashed does not crash");
            running.reset();
            ++crashes;
        },
        [&] {
            sim::expect(running == nullptr, "it starts again after a crash");
            if (is_right) running = std::make_unique<process>(disk);
        });
    sim.run();
    sim::expect(disk == 5, "all is written");
    if (crashes == 0) sim::reached("no crash");
    if (crashes == 1) sim::reached("one crash");
    if (crashes > 1) sim::reached("several crashes");
}

} // namespace

TEST_CASE("a process that crashes starts again, and may crash again") {
    auto result =
        sim::explore(quiet(500, {sim::fault::crash_restart}), [](sim_context& sim) { write_all(sim, true); });
    CHECK_MESSAGE(result.is_clean(), result.text);
    for (const char* mark : {"no crash", "one crash", "several crashes"}) {
        CAPTURE(mark);
        CHECK(result.reached[mark] > 0);
    }
}

TEST_CASE("a process that does not continue after a crash is found, and the report names the crash") {
    const auto wrong = [](sim_context& sim) {
        int disk = 0;
        auto running = std::make_unique<process>(disk);
        sim::crash_and_restart("the process", [&] { running.reset(); }, [] {});
        sim.run();
        sim::expect(disk == 5, "all is written");
    };
    const auto result = sim::explore(quiet(500, {sim::fault::crash_restart}), wrong);
    CHECK(result.kind == sim::verdict::expectation);
    CHECK(result.text.find("FAULT crashes: the process") != std::string::npos);
    CHECK(result.text.find("the process starts again") != std::string::npos);
    const auto again = sim::replay(result.replay, wrong, quiet(1));
    CHECK(again.why == result.why);
}

TEST_CASE("without the fault no process crashes") {
    auto result =
        sim::explore(quiet(100, {sim::fault::ending}), [](sim_context& sim) { write_all(sim, false); });
    CHECK_MESSAGE(result.is_clean(), result.text);
    CHECK(result.reached["no crash"] == 100);
}

TEST_CASE("a crash during a wait of the test is followed by its restart") {
    const auto wait = [](sim_context& sim) {
        int disk = 0;
        auto running = std::make_unique<process>(disk);
        sim::crash_and_restart(
            "the process", [&] { running.reset(); }, [&] { running = std::make_unique<process>(disk); });
        sim.run_for(1h);
        sim.end_faults();
        sim.run();
        sim::expect(disk == 5, "all is written");
    };
    const auto result = sim::explore(quiet(300, {sim::fault::crash_restart}), wait);
    CHECK_MESSAGE(result.is_clean(), result.text);
}
