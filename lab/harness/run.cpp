#include <lab/harness/affinity.hpp>
#include <lab/harness/interrupt.hpp>
#include <lab/harness/machine.hpp>
#include <lab/harness/progress_line.hpp>
#include <lab/harness/results_file.hpp>
#include <lab/harness/run.hpp>
#include <lab/harness/system.hpp>
#include <lab/harness/table.hpp>
#include <lab/harness/usage.hpp>

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <unistd.h>

namespace lab {
namespace {

constexpr int interrupted_status = 130; // the status with which a shell reports SIGINT

nlohmann::json describe_run(const std::vector<experiment>& some, const plan& how) {
    nlohmann::json names = nlohmann::json::array();
    for (const experiment& e : some) names.push_back(e.name);
    return {{"scale", how.name},
            {"rounds", how.rounds},
            {"repetitions", how.repetitions},
            {"turns_per_us", how.turns_per_us},
            {"experiments", names},
            {"seconds", 0.0},
            {"finished", false}};
}

nlohmann::json describe_begin(const std::vector<experiment>& some, const plan& how) {
    return {{"schema", results_schema},
            {"workers", how.workers},
            {"run", describe_run(some, how)},
            {"machine", describe_machine(how.scale)}};
}

void announce(const nlohmann::json& head) {
    const nlohmann::json& machine = head["machine"];
    std::cout << "ekiden-lab: " << head["run"]["scale"].get<std::string>() << ", " << head["workers"]
              << " workers on " << machine["usable_cores"] << " usable cores\n";
    if (machine["disturbed"].get<bool>())
        std::cout << "ekiden-lab: WARNING: the machine is busy: others used "
                  << readable(machine["used_by_others"], "1")
                  << " of its cores in the last second; figures will be off\n";
    std::cout << std::flush;
}

bool own_cell_failed(const experiment_result& result) {
    return std::any_of(result.cells.begin(), result.cells.end(), [](const cell_result& cell) {
        return cell.what.name.starts_with("ekiden") && cell.status == cell_result::state::failed;
    });
}

// Prints an experiment that has been measured. The tour prints only one line for each, because the report
// ends the tour with a page.
void show(const experiment_result& result, const plan& how, double seconds) {
    const bool colour = isatty(STDOUT_FILENO) != 0;
    const experiment& e = result.what;
    if (how.headlines_only)
        std::cout << "  " << e.title << "  [" << e.name << ", " << readable(seconds, "s") << "]\n"
                  << std::flush;
    else
        std::cout << '\n'
                  << (colour ? "\033[1m" : "") << e.title << (colour ? "\033[0m" : "") << "  [" << e.name
                  << "]\n"
                  << tables(result, colour) << std::flush;
}

} // namespace

int run(const std::vector<experiment>& some, const plan& how, const std::string& out) {
    catch_interrupts();
    const double begin_s = usage_now().wall_s;
    progress_line line;
    // A cell may print what it does. In the tour, that would disturb the lines.
    if (isatty(STDERR_FILENO) != 0 && !how.headlines_only) set_environment("LAB_LIVE_VIEW", "1");
    results_file results(out, describe_begin(some, how));
    announce(results.head());
    if (!results.remark().empty()) std::cout << "ekiden-lab: " << results.remark() << '\n' << std::flush;
    if (!results.write()) return 1; // now, so that a bad path does not cost minutes of measuring
    bool well = true;
    for (const experiment& e : some) {
        if (interrupted()) break;
        const double experiment_begin_s = usage_now().wall_s;
        const experiment_result result =
            run_experiment(e, how,
                           {.before =
                                [&](const cell_result& cell, unsigned round, double share) {
                                    line.show(e.name + ", " + cell.variant + (cell.pinned ? ", pinned" : ""),
                                              cell, round, share);
                                },
                            .after =
                                [&](const experiment& of, std::span<const cell_result> table) {
                                    results.put(of, table);
                                    well = results.write_if_due() && well;
                                }});
        line.clear();
        show(result, how, usage_now().wall_s - experiment_begin_s);
        well = well && !own_cell_failed(result);
    }
    const bool finished = !interrupted();
    results.head()["run"]["finished"] = finished;
    results.head()["run"]["seconds"] = usage_now().wall_s - begin_s;
    if (!results.write()) return 1;
    std::cout << (finished ? "\nresults: " : "\nekiden-lab: interrupted; what was measured before is in ")
              << out << std::endl;
    return !finished ? interrupted_status : well ? 0 : 1;
}

} // namespace lab
