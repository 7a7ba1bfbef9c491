#include <lab/harness/results_file.hpp>

#include <array>
#include <doctest/doctest.h>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <unistd.h>

using nlohmann::json;

namespace {

lab::experiment described(const char* name) {
    lab::experiment e;
    e.name = name;
    e.figures = {{.name = "t", .title = "time", .unit = "ns"}};
    e.variants = {{.name = "one"}, {.name = "two"}};
    e.for_tests = true;
    return e;
}

const bool added = lab::add(described("kept-first")) && lab::add(described("kept-second"));

lab::cell_result cell(const char* experiment, const char* name, const char* variant, double value) {
    lab::cell_result c;
    c.what = {.experiment = experiment, .name = name, .title = name};
    c.variant = variant;
    c.repetitions.push_back({.used = {.wall_s = 1}, .figures = {{"t", value}}, .series = {}});
    c.rounds = 1;
    return c;
}

json head(const char* compiler = "g++", const char* scale = "quick") {
    return {{"schema", lab::results_schema},
            {"workers", 2},
            {"run", {{"scale", scale}}},
            {"machine",
             {{"host", "h"},
              {"processor", nullptr},
              {"usable_cores", 2},
              {"compiler", compiler},
              {"flags", "-O3"}}}};
}

// A folder that goes with the test.
struct folder {
    std::filesystem::path path =
        std::filesystem::temp_directory_path() / ("ekiden-lab-test-" + std::to_string(getpid()));
    folder() {
        REQUIRE(added);
        std::filesystem::create_directories(path);
    }
    ~folder() { std::filesystem::remove_all(path); }
    folder(const folder&) = delete;
    folder& operator=(const folder&) = delete;

    [[nodiscard]] std::string file() const { return path / "results.json"; }
    [[nodiscard]] json read() const { return json::parse(std::ifstream(file())); }
};

// "variant/implementation=value ..." of one experiment, as the file has them.
std::string cells(const json& document, const char* experiment) {
    std::ostringstream text;
    for (const json& e : document.at("experiments"))
        if (e.at("name") == experiment)
            for (const json& c : e.at("cells"))
                text << c.at("variant").get<std::string>() << '/' << c.at("implementation").get<std::string>()
                     << '=' << c.at("figures").at("t").at("median").get<double>() << ' ';
    return text.str();
}

} // namespace

TEST_CASE("a later run keeps the tables that it does not measure, and replaces the others as a whole") {
    const folder in;
    const lab::experiment first = described("kept-first");
    const lab::experiment second = described("kept-second");
    {
        lab::results_file results(in.file(), head());
        results.put(first,
                    std::array{cell("kept-first", "ekiden", "two", 1), cell("kept-first", "peer", "two", 2)});
        results.put(first, std::array{cell("kept-first", "ekiden", "one", 3)});
        results.put(second, std::array{cell("kept-second", "ekiden", "one", 4)});
        REQUIRE(results.write());
    }
    lab::results_file results(in.file(), head());
    CHECK(results.remark().empty());
    results.put(first, std::array{cell("kept-first", "ekiden", "two", 9)});
    REQUIRE(results.write());
    CHECK(cells(in.read(), "kept-first") == "one/ekiden=3 two/ekiden=9 ");
    CHECK(cells(in.read(), "kept-second") == "one/ekiden=4 ");
    CHECK_FALSE(std::filesystem::exists(in.file() + ".part"));
}

TEST_CASE("results of another compiler, of a smoke run or of another form are set aside") {
    const auto check_set_aside = [](const std::string& older) {
        const folder in;
        std::ofstream(in.file()) << older;
        lab::results_file results(in.file(), head());
        CHECK(results.remark().find(".old") != std::string::npos);
        CHECK(std::filesystem::exists(in.file() + ".old"));
        REQUIRE(results.write());
        CHECK(in.read().at("experiments").empty());
    };
    json other = head("clang");
    other["experiments"] = json::array();
    check_set_aside(other.dump());
    json smoke = head("g++", "smoke");
    smoke["experiments"] = json::array();
    check_set_aside(smoke.dump());
    check_set_aside("{}");
    check_set_aside("no JSON at all");
    check_set_aside("");
}

TEST_CASE("a variant that the lab no longer knows is dropped, and a file that cannot be written is told") {
    const folder in;
    lab::results_file results(in.file(), head());
    results.put(described("kept-first"), std::array{cell("kept-first", "ekiden", "gone", 1)});
    REQUIRE(results.write());
    CHECK(in.read().at("experiments").empty());
    lab::results_file nowhere(in.path / "results.json" / "below-a-file.json", head());
    CHECK_FALSE(nowhere.write());
}
