#include <lab/harness/busy.hpp>
#include <lab/harness/command_line.hpp>
#include <lab/harness/machine.hpp>
#include <lab/harness/run.hpp>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>

namespace lab {
namespace {

// Returns the experiments that the user named. Without names, returns all except the experiments that only
// tests run. Empty after an error.
std::vector<experiment> chosen(const std::vector<std::string>& names) {
    const std::vector<experiment> all = experiments();
    std::vector<experiment> some;
    std::string known;
    for (const experiment& e : all) {
        const bool named = std::find(names.begin(), names.end(), e.name) != names.end();
        if (named || (names.empty() && !e.for_tests)) some.push_back(e);
        known += (known.empty() ? "" : ", ") + e.name;
    }
    for (const std::string& name : names)
        if (std::none_of(all.begin(), all.end(), [&](const experiment& e) { return e.name == name; })) {
            std::cerr << "ekiden-lab: there is no experiment '" << name << "'; there are: " << known << '\n';
            return {};
        }
    return some;
}

} // namespace

int command_line(int argc, char** argv) {
    CLI::App app("Measures ekiden beside its peers on this machine.", "ekiden-lab");
    std::vector<std::string> names;
    std::string out;
    bool list = false, tour = false, quick = false, full = false, smoke = false, no_pinning = false;
    unsigned workers = 0, rounds = 0, limit_s = 0;
    app.add_option("experiment", names, "what to run; everything if none is named");
    app.add_option("--out", out, "where the results go as JSON (default: results/<host>.json)");
    app.add_option("--workers", workers, "threads of each pool (default: usable cores, at least 2)")
        ->check(CLI::Range(1, 1024));
    app.add_option("--rounds", rounds, "how often each cell is measured in a process of its own")
        ->check(CLI::Range(1, 1000));
    app.add_option("--limit", limit_s, "seconds after which a cell's process counts as hung")
        ->check(CLI::Range(1, 3600));
    app.add_flag("--list", list, "print the experiments' names, one a line");
    app.add_flag("--no-pinning", no_pinning, "leave the pinned runs out");
    CLI::App* scales = app.add_option_group("scale")->require_option(0, 1);
    scales->add_flag("--tour", tour,
                     "one comparison per experiment, five minutes at most (the default if none is named)");
    scales->add_flag("--quick", quick, "all cells, about 40 minutes (the default for those named)");
    scales->add_flag("--full", full, "all cells, many repetitions, narrow spreads: hours");
    scales->add_flag("--smoke", smoke, "tiny sizes: proves that everything works, times nothing of worth");
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        return app.exit(error) == 0 ? 0 : 2;
    }
    if (list) {
        for (const experiment& e : experiments())
            if (!e.for_tests) std::cout << e.name << '\n';
        return 0;
    }
    const std::vector<experiment> some = chosen(names);
    if (some.empty()) return 2;
    tour = tour || (names.empty() && !quick && !full && !smoke);
    plan how = tour    ? tour_plan()
               : full  ? usual_plan(scale::full)
               : smoke ? usual_plan(scale::smoke)
                       : usual_plan(scale::quick);
    how.workers = workers > 0 ? workers : std::max(usable_cores(), 2U);
    if (rounds > 0) how.rounds = rounds;
    if (limit_s > 0) how.limit_s = limit_s;
    how.pinned_too = how.pinned_too && !no_pinning;
    how.turns_per_us = calibrate_turns_per_us();
    return run(some, how, out.empty() ? "results/" + host_name() + ".json" : out);
}

} // namespace lab
