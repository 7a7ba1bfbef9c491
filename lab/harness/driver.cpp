#include <lab/harness/cell_process.hpp>
#include <lab/harness/child_process.hpp>
#include <lab/harness/driver.hpp>
#include <lab/harness/interrupt.hpp>
#include <lab/harness/machine.hpp>
#include <lab/harness/system.hpp>
#include <lab/harness/usage.hpp>

#include <algorithm>
#include <filesystem>
#include <sstream>

namespace lab {
namespace {

using state = cell_result::state;

std::filesystem::path own_folder() { return own_program().parent_path(); }

void set(cell_result& cell, state status, std::string reason) {
    cell.status = status;
    cell.reason = std::move(reason);
}

std::string program_of(const implementation& i) {
    return (i.program.empty() ? own_program() : own_folder() / i.program).string();
}

cell_result make_cell(const implementation& i, const plan& how, const std::string& variant, bool pinned) {
    cell_result cell;
    cell.what = i;
    cell.variant = variant;
    cell.pinned = pinned;
    cell.scale = how.name;
    cell.date = date_now();
    if (!std::filesystem::exists(program_of(i)))
        set(cell, state::not_installed, "not built: " + i.program);
    else if (pinned && !i.pinnable)
        set(cell, state::not_applicable, "starts threads as it goes, which cannot be bound one by one");
    return cell;
}

bool takes_part(const implementation& i, const variant& v) {
    return v.only.empty() || std::find(v.only.begin(), v.only.end(), i.name) != v.only.end();
}

bool takes_part(const missing_implementation& m, const variant& v) {
    return v.only.empty() || std::any_of(v.only.begin(), v.only.end(), [&m](const std::string& name) {
               return !m.name.empty() && name.starts_with(m.name);
           });
}

std::vector<cell_result> cells_of(const experiment& e, const plan& how, const variant& v, bool pinned) {
    std::vector<cell_result> cells;
    for (const implementation& i : implementations())
        if (i.experiment == e.name && takes_part(i, v)) cells.push_back(make_cell(i, how, v.name, pinned));
    for (const missing_implementation& m : missing_implementations()) {
        if (m.experiment != e.name || !takes_part(m, v)) continue;
        cells.push_back(
            make_cell({.experiment = e.name, .name = m.title, .title = m.title}, how, v.name, pinned));
        if (m.reason.empty())
            set(cells.back(), state::not_installed, "package " + m.package);
        else
            set(cells.back(), state::not_applicable, m.reason);
    }
    return cells;
}

repetition read_repetition(const nlohmann::json& j) {
    repetition r;
    r.used = {.wall_s = j.at("wall_s"),
              .user_s = j.at("user_s"),
              .system_s = j.at("system_s"),
              .voluntary_switches = j.at("voluntary_switches"),
              .involuntary_switches = j.at("involuntary_switches")};
    r.figures = j.at("figures").get<decltype(r.figures)>();
    r.series = j.at("series").get<decltype(r.series)>();
    return r;
}

// Adds the reports of one process. One error fails the whole cell, because a time beside a wrong result means
// nothing.
void take_reports(cell_result& cell, const child_outcome& outcome, const plan& how) {
    std::istringstream lines(outcome.reports);
    for (std::string line; std::getline(lines, line);) {
        const nlohmann::json j = nlohmann::json::parse(line, nullptr, false);
        if (j.contains("repetition"))
            cell.repetitions.push_back(read_repetition(j["repetition"]));
        else if (j.contains("failed"))
            return set(cell, state::failed, j["failed"]);
        else if (j.contains("not applicable"))
            return set(cell, state::not_applicable, j["not applicable"]);
    }
    if (outcome.how != child_outcome::ending::exited || outcome.code != 0)
        set(cell, state::failed, describe(outcome, how.limit_s));
    else if (cell.repetitions.empty())
        set(cell, state::failed, "reported nothing");
}

// Returns false if interrupted. The cell is unchanged then.
bool run_once(const experiment& e, const plan& how, unsigned round, cell_result& cell) {
    cell_request request{.experiment = e.name,
                         .implementation = cell.what.name,
                         .asked = {},
                         .report_descriptor = child_report_descriptor};
    request.asked = {.variant = cell.variant,
                     .scale = how.scale,
                     .workers = how.workers,
                     .repetitions = e.one_round ? 1 : how.repetitions,
                     .round = round,
                     .pinned = cell.pinned,
                     .turns_per_us = how.turns_per_us,
                     .input = how.input};
    const std::string preload =
        e.counts_allocations ? (own_folder() / "libekiden-lab-allocations.so").string() : std::string();
    const child_outcome outcome =
        run_child(program_of(cell.what), {cell_option, to_argument(request)}, how.limit_s, preload);
    if (outcome.how == child_outcome::ending::interrupted) return false;
    take_reports(cell, outcome, how);
    ++cell.rounds;
    cell.date = date_now();
    return true;
}

// A full run measures pinned all experiments with a time. A quick run does so only for experiments that ask
// for it. The tour measures nothing pinned.
bool measures_pinned(const experiment& e, const plan& how) {
    return how.pinned_too && (e.pinned_too || (how.scale == scale::full && !e.one_round));
}

unsigned rounds_of(const experiment& e, const plan& how) { return e.one_round ? 1 : how.rounds; }

std::vector<cell_result> measured(const std::vector<cell_result>& cells) {
    std::vector<cell_result> some = cells;
    std::erase_if(some, [](const cell_result& c) { return c.status == state::ok && c.rounds == 0; });
    return some;
}

// Runs one table. Calls `progressed` before each process.
template <class Progressed>
std::vector<cell_result> run_table(const experiment& e, const plan& how, std::vector<cell_result> cells,
                                   const observer& tell, Progressed progressed) {
    const double begin_s = usage_now().wall_s;
    for (unsigned round = 0; round < rounds_of(e, how); ++round) {
        const double spent_s = usage_now().wall_s - begin_s;
        if (round > 0 && how.table_s > 0 && spent_s * (round + 1) / round > how.table_s) break;
        for (std::size_t i = 0; i < cells.size(); ++i) {
            // Each round begins at another cell, so that no cell always follows the same one.
            cell_result& cell = cells[(i + round * 5) % cells.size()];
            if (cell.status != state::ok) continue;
            if (interrupted()) return measured(cells);
            progressed(cell, round);
            if (!run_once(e, how, round, cell)) return measured(cells);
            tell.after(e, measured(cells));
        }
        tell.after(e, measured(cells));
    }
    return cells;
}

} // namespace

plan tour_plan() {
    return {.name = "tour", .rounds = 3, .headlines_only = true, .pinned_too = false, .table_s = 7};
}

plan usual_plan(scale s) {
    switch (s) {
    case scale::smoke:
        return {.name = "smoke", .scale = s, .rounds = 1, .repetitions = 1, .limit_s = 10};
    case scale::quick:
        return {.name = "quick", .scale = s, .rounds = 3, .repetitions = 1, .limit_s = 30};
    case scale::full:
        return {.name = "full", .scale = s, .rounds = 11, .repetitions = 3, .limit_s = 300};
    }
    return {};
}

std::vector<variant> variants_of(const experiment& e, const plan& how) {
    if (how.headlines_only) return {headline_of(e)};
    std::vector<variant> some = e.variants;
    if (how.scale != scale::full) std::erase_if(some, [](const variant& v) { return v.full_only; });
    return some;
}

std::size_t count_processes(const experiment& e, const plan& how) {
    std::size_t count = 0;
    for (const bool pinned : {false, true}) {
        if (pinned && !measures_pinned(e, how)) continue;
        for (const variant& v : variants_of(e, how))
            for (const cell_result& cell : cells_of(e, how, v, pinned))
                count += cell.status == state::ok ? rounds_of(e, how) : 0;
    }
    return count;
}

experiment_result run_experiment(const experiment& e, const plan& how, const observer& tell) {
    experiment_result result{.what = e, .cells = {}};
    result.what.variants = variants_of(e, how);
    const double all = static_cast<double>(std::max<std::size_t>(count_processes(e, how), 1));
    double done = 0;
    for (const bool pinned : {false, true}) {
        if (pinned && !measures_pinned(e, how)) continue;
        for (const variant& v : result.what.variants) {
            if (interrupted()) return result;
            const std::vector<cell_result> cells = run_table(
                e, how, cells_of(e, how, v, pinned), tell,
                [&](const cell_result& cell, unsigned round) { tell.before(cell, round, done++ / all); });
            result.cells.insert(result.cells.end(), cells.begin(), cells.end());
        }
    }
    return result;
}

} // namespace lab
