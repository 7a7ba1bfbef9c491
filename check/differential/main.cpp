// ekiden-differential: compares the checker with C++20 over random programs, or prints one of the programs.
#include <check/differential/comparison.hpp>
#include <check/driver/jobs.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <sstream>
#include <string>

namespace {

namespace differential = ekiden::check::differential;

constexpr std::uint64_t in_a_job = 250; // number of programs in one process

/// Returns "executions more", followed by the report of the first difference, if there is one.
std::string compare_some(std::uint64_t first, std::uint64_t count) {
    std::uint64_t executions = 0;
    std::uint64_t more = 0;
    std::string report;
    for (std::uint64_t seed = first; seed < first + count && report.empty(); ++seed) {
        const differential::comparison c = differential::compare(seed);
        executions += c.executions;
        more += c.more_in_cpp ? 1 : 0;
        if (!c.same) report = c.report;
    }
    return std::to_string(executions) + " " + std::to_string(more) + "\n" + report;
}

int compare_all(std::uint64_t first, std::uint64_t programs, unsigned processes) {
    std::uint64_t executions = 0;
    std::uint64_t more = 0;
    bool same = true;
    ekiden::check::run_jobs(
        (programs + in_a_job - 1) / in_a_job, processes,
        [&](std::size_t job) {
            const std::uint64_t begin = job * in_a_job;
            return compare_some(first + begin, std::min(in_a_job, programs - begin));
        },
        [&](std::size_t job, const std::string& text) {
            std::uint64_t executed = 0;
            std::uint64_t wider = 0;
            std::istringstream in(text);
            in >> executed >> wider;
            const std::string report = text.substr(std::min(text.find('\n'), text.size() - 1) + 1);
            executions += executed;
            more += wider;
            if (!text.empty() && report.empty()) return;
            same = false;
            std::printf("the checker and C++20 differ: %s\n",
                        text.empty()
                            ? ("a process died, seeds from " + std::to_string(first + job * in_a_job)).c_str()
                            : report.c_str());
        });
    std::printf("%llu random programs against the axioms of C++20, %s; %.1f million executions; in %llu "
                "C++20 allows more "
                "(seq_cst out of the order of execution)\n",
                static_cast<unsigned long long>(programs), same ? "no difference" : "DIFFERENT",
                static_cast<double>(executions) / 1e6, static_cast<unsigned long long>(more));
    return same ? 0 : 1;
}

} // namespace

int main(int argc, char** argv) {
    CLI::App app(
        "Compares what the checker explores with what the axioms of C++20 allow, over random programs.");
    std::uint64_t programs = 10'000;
    std::uint64_t first = 1;
    std::optional<std::uint64_t> seed;
    unsigned processes = 2;
    app.add_option("--programs", programs, "how many programs");
    app.add_option("--first", first, "the seed of the first one; each next one has the next seed");
    app.add_option("--seed", seed, "print the program of this seed and both sets of outcomes");
    app.add_option("--processes", processes, "processes at once")->check(CLI::Range(1U, 256U));
    CLI11_PARSE(app, argc, argv);
    int status = 0;
    if (seed) {
        const differential::comparison c = differential::compare(*seed);
        std::fputs(c.report.c_str(), stdout);
        status = c.same ? 0 : 1;
    } else {
        status = compare_all(first, programs, processes);
    }
    std::fflush(stdout);
    // Static objects belong to the last execution, not to this process: see driver/jobs.cpp.
    std::_Exit(status);
}
