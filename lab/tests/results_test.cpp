#include <lab/harness/results.hpp>

#include <doctest/doctest.h>

namespace {

lab::experiment described() {
    lab::experiment e;
    e.name = "e";
    e.figures = {{.name = "a", .title = "A", .unit = "ns"}, {.name = "b", .title = "B", .unit = "ms"}};
    e.variants = {{.name = "one", .title = "One"}, {.name = "two", .title = "Two", .primary = "b"}};
    return e;
}

lab::cell_result measured() {
    lab::cell_result c;
    c.what = {.experiment = "e", .name = "x", .title = "X"};
    c.variant = "one";
    c.repetitions = {{.used = {.wall_s = 1, .user_s = 2, .system_s = 1},
                      .figures = {{"a", 10}},
                      .series = {{"h", {1, 2}}}},
                     {.used = {.wall_s = 3}, .figures = {{"a", 20}, {"b", 5}}, .series = {{"h", {0, 1, 4}}}}};
    return c;
}

} // namespace

TEST_CASE("a variant is compared by its own figure or else by the first") {
    const lab::experiment e = described();
    CHECK(lab::primary_figure(e, "one").name == "a");
    CHECK(lab::primary_figure(e, "two").name == "b");
}

TEST_CASE("a figure is summed up over the repetitions that have it") {
    const lab::cell_result c = measured();
    CHECK(c.figure("a")->median == doctest::Approx(15));
    CHECK(c.figure("b")->count == 1);
    CHECK_FALSE(c.figure("no such figure").has_value());
}

TEST_CASE("the results of a cell hold its figures, use and added-up series") {
    const nlohmann::json c = lab::to_json(described(), measured());
    CHECK(c["status"] == "ok");
    CHECK(c["figures"]["a"]["minimum"] == 10.0);
    CHECK(c["usage"]["cpu_s"]["maximum"] == 3.0);
    CHECK(c["series"]["h"] == nlohmann::json({1.0, 3.0, 4.0}));
    CHECK(c["repetitions"].size() == 2);
}

TEST_CASE("the results of a failed cell hold no figure, whatever was measured before") {
    lab::cell_result c = measured();
    c.status = lab::cell_result::state::failed;
    c.reason = "sum off";
    const nlohmann::json j = lab::to_json(described(), c);
    CHECK(j["status"] == "FAILED");
    CHECK(j["reason"] == "sum off");
    CHECK_FALSE(j.contains("figures"));
    CHECK_FALSE(j.contains("repetitions"));
}
