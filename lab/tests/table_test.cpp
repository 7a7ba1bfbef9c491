#include <lab/harness/table.hpp>

#include <doctest/doctest.h>

using lab::readable;

namespace {

lab::cell_result cell(const char* name, double value) {
    lab::cell_result c;
    c.what = {.experiment = "e", .name = name, .title = name};
    c.variant = "v";
    c.repetitions.push_back({.used = {.wall_s = 1}, .figures = {{"t", value}}, .series = {}});
    return c;
}

lab::experiment_result result() {
    lab::experiment_result r;
    r.what.name = "e";
    r.what.figures = {{.name = "t", .title = "time", .unit = "ns"}};
    r.what.variants = {{.name = "v", .title = "the variant"}};
    r.what.source = {{"peer", "v", "t", 2'000, "theirs"}};
    r.cells = {cell("ekiden", 100), cell("peer", 250)};
    return r;
}

} // namespace

TEST_CASE("a time is shown with three digits in the unit that fits") {
    CHECK(readable(0.5, "ns") == "0.50 ns");
    CHECK(readable(12.34, "ns") == "12.3 ns");
    CHECK(readable(999.9, "ns") == "1.00 us");
    CHECK(readable(2'341, "ns") == "2.34 us");
    CHECK(readable(0.0123, "s") == "12.3 ms");
    CHECK(readable(75, "s") == "75.0 s");
}

TEST_CASE("shares and counts are shown as such") {
    CHECK(readable(0.625, "share") == "62.5 %");
    CHECK(readable(1234, "count") == "1234");
    CHECK(readable(4, "1") == "4.00");
}

TEST_CASE("a table compares each row with ekiden and shows the published figure") {
    const std::string text = lab::tables(result(), false);
    CHECK(text.find("the variant") != std::string::npos);
    CHECK(text.find("2.50x") != std::string::npos);
    CHECK(text.find("2.00 us") != std::string::npos);
}

TEST_CASE("a table shows why a cell has no figure, and no time in its place") {
    lab::experiment_result r = result();
    r.cells[1].status = lab::cell_result::state::failed;
    r.cells[1].reason = "lost tasks";
    const std::string text = lab::tables(r, false);
    CHECK(text.find("FAILED: lost tasks") != std::string::npos);
    CHECK(text.find("250") == std::string::npos);
}

TEST_CASE("a table shows the other figures that some row has, and no others") {
    lab::experiment_result r = result();
    r.what.figures.push_back({.name = "c", .title = "calls", .unit = "count"});
    r.what.figures.push_back({.name = "m", .title = "memory", .unit = "1"});
    r.cells[1].repetitions[0].figures["c"] = 4'321;
    const std::string text = lab::tables(r, false);
    CHECK(text.find("calls") != std::string::npos);
    CHECK(text.find("4321") != std::string::npos);
    CHECK(text.find("memory") == std::string::npos);
}
