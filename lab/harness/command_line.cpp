#include <lab/harness/busy.hpp>
#include <lab/harness/command_line.hpp>
#include <lab/harness/driver.hpp>
#include <lab/harness/machine.hpp>
#include <lab/harness/table.hpp>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <unistd.h>

namespace lab {
namespace {

struct options {
    std::vector<std::string> names;
    std::string out;
    plan how;
};

// What the user named, or everything but the experiments that only tests run. Empty after an error.
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

// One line, rewritten in place on a terminal; elsewhere one line per variant.
class progress_line {
public:
    explicit progress_line(bool terminal) : terminal_(terminal) {}

    void show(const experiment& e, const cell_result& cell, unsigned round, double share) {
        const std::string where = e.name + ", " + cell.variant + (cell.pinned ? ", pinned" : "");
        if (terminal_) {
            char percent[8];
            std::snprintf(percent, sizeof percent, "%3.0f %%", share * 100);
            std::cerr << "\r\033[2K  " << percent << "  " << where << ", round " << round + 1 << ": "
                      << cell.what.title << std::flush;
        } else if (where != last_) {
            std::cerr << "  measuring " << where << std::endl;
            last_ = where;
        }
    }

    void clear() const {
        if (terminal_) std::cerr << "\r\033[2K" << std::flush;
    }

private:
    bool terminal_;
    std::string last_;
};

// Through a file of its own, so that an interruption leaves the old or the new one whole.
bool write_results(const std::string& path, const nlohmann::json& results) {
    std::error_code error;
    const std::filesystem::path target(path);
    if (target.has_parent_path()) std::filesystem::create_directories(target.parent_path(), error);
    const std::string unfinished = path + ".part";
    if (!error) {
        std::ofstream file(unfinished);
        file << results.dump(1) << '\n';
        if (!file.flush()) error = std::error_code(errno, std::generic_category());
    }
    if (!error) std::filesystem::rename(unfinished, target, error);
    if (error) std::cerr << "ekiden-lab: cannot write '" << path << "': " << error.message() << '\n';
    return !error;
}

int measure(const std::vector<experiment>& some, const options& o) {
    const bool out_terminal = isatty(STDOUT_FILENO) != 0;
    progress_line line(isatty(STDERR_FILENO) != 0);
    if (isatty(STDERR_FILENO) != 0) setenv("LAB_LIVE_VIEW", "1", 1); // a cell may show what it sees
    nlohmann::json results = {{"schema", 1},
                              {"scale", to_string(o.how.scale)},
                              {"workers", o.how.workers},
                              {"rounds", o.how.rounds},
                              {"repetitions", o.how.repetitions},
                              {"turns_per_us", o.how.turns_per_us},
                              {"machine", describe_machine()},
                              {"experiments", nlohmann::json::array()}};
    const nlohmann::json& machine = results["machine"];
    std::cout << "ekiden-lab: " << to_string(o.how.scale) << ", " << o.how.workers << " workers on "
              << machine["usable_cores"] << " usable cores, load "
              << readable(machine["load_average"][0], "1") << '\n'
              << std::flush;
    if (!write_results(o.out, results)) return 1; // now, rather than after minutes of measuring
    bool well = true;
    for (const experiment& e : some) {
        std::cout << '\n'
                  << (out_terminal ? "\033[1m" : "") << e.title << (out_terminal ? "\033[0m" : "") << "  ["
                  << e.name << "]\n"
                  << std::flush;
        const experiment_result result =
            run_experiment(e, o.how, [&](const cell_result& cell, unsigned round, double share) {
                line.show(e, cell, round, share);
            });
        line.clear();
        std::cout << tables(result, out_terminal) << std::flush;
        for (const cell_result& cell : result.cells)
            if (cell.what.name.starts_with("ekiden") && cell.status == cell_result::state::failed)
                well = false;
        results["experiments"].push_back(to_json(result));
        if (!write_results(o.out, results)) return 1;
    }
    std::cout << "\nresults: " << o.out << '\n';
    return well ? 0 : 1;
}

} // namespace

int command_line(int argc, char** argv) {
    CLI::App app("Measures ekiden beside its peers on this machine.", "ekiden-lab");
    options o;
    bool list = false, quick = false, full = false, smoke = false, no_pinning = false;
    unsigned workers = 0, rounds = 0, limit_s = 0;
    app.add_option("experiment", o.names, "what to run; everything if none is named");
    app.add_option("--out", o.out, "where the results go as JSON (default: results/<host>.json)");
    app.add_option("--workers", workers, "threads of each pool (default: usable cores, at least 2)")
        ->check(CLI::Range(1, 1024));
    app.add_option("--rounds", rounds, "how often each cell is measured in a process of its own")
        ->check(CLI::Range(1, 1000));
    app.add_option("--limit", limit_s, "seconds after which a cell's process counts as hung")
        ->check(CLI::Range(1, 3600));
    app.add_flag("--list", list, "print the experiments' names, one a line");
    app.add_flag("--no-pinning", no_pinning, "leave the pinned runs out");
    CLI::App* scales = app.add_option_group("scale")->require_option(0, 1);
    scales->add_flag("--quick", quick, "a few minutes for everything (the default)");
    scales->add_flag("--full", full, "many repetitions, narrow spreads, about half an hour");
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
    const std::vector<experiment> some = chosen(o.names);
    if (some.empty()) return 2;
    o.how = usual_plan(full ? scale::full : smoke ? scale::smoke : scale::quick);
    o.how.workers = workers > 0 ? workers : std::max(usable_cores(), 2U);
    if (rounds > 0) o.how.rounds = rounds;
    if (limit_s > 0) o.how.limit_s = limit_s;
    o.how.pinned_too = !no_pinning;
    o.how.turns_per_us = calibrate_turns_per_us();
    if (o.out.empty()) o.out = "results/" + host_name() + ".json";
    return measure(some, o);
}

} // namespace lab
