/// Runs experiments: one process per cell and round, the rounds interleaved over the implementations.
///
/// Used by: a run of the lab.
#pragma once

#include <lab/harness/results.hpp>

#include <functional>
#include <span>
#include <string>
#include <vector>

namespace lab {

/// How a run is to be done.
struct plan {
    std::string name; // "tour", "quick", "full" or "smoke", as results and report call it
    lab::scale scale = lab::scale::quick;
    unsigned workers = 2;
    unsigned rounds = 1;
    unsigned repetitions = 1;    // in each process
    bool headlines_only = false; // of each experiment only the variant that a newcomer wants to see
    bool pinned_too = true;      // also measure pinned, where the experiment asks for it
    double limit_s = 30;         // of one process
    double table_s = 0;          // no round of a table begins that would end later; 0: all rounds
    double turns_per_us = 0;     // see calibrate_turns_per_us()
    std::string input = {};      // of each cell, see settings
};

/// The headline of every experiment, in less than five minutes on two undisturbed processors.
[[nodiscard]] plan tour_plan();

/// The usual plan for all cells at a scale.
[[nodiscard]] plan usual_plan(scale s);

/// Those of the experiment that `how` measures.
[[nodiscard]] std::vector<variant> variants_of(const experiment& e, const plan& how);

/// Told of what goes on.
struct observer {
    /// Before each process: what is about to run, and which share of the experiment is done.
    std::function<void(const cell_result& cell, unsigned round, double share)> before;
    /// After each process, and once more after each round: what the table now holds, without cells not yet
    /// measured.
    std::function<void(const experiment& e, std::span<const cell_result> table, bool round_ended)> after;
};

/// Runs the cells of `e`. Cells that fail are not run again. Interrupted, it ends the running process, and
/// returns what it has.
[[nodiscard]] experiment_result run_experiment(const experiment& e, const plan& how, const observer& tell);

/// How many processes run_experiment() will start at most.
[[nodiscard]] std::size_t count_processes(const experiment& e, const plan& how);

} // namespace lab
