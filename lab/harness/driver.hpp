/// Runs experiments, with one process for each cell and round. The rounds of the implementations are
/// interleaved.
///
/// Used by: a run of the lab.
#pragma once

#include <lab/harness/results.hpp>

#include <functional>
#include <span>
#include <string>
#include <vector>

namespace lab {

/// The plan of a run.
struct plan {
    std::string name; // "tour", "quick", "full" or "smoke": the name in results and report
    lab::scale scale = lab::scale::quick;
    unsigned workers = 2;
    unsigned rounds = 1;
    unsigned repetitions = 1;    // in each process
    bool headlines_only = false; // measure only the headline variant of each experiment
    bool pinned_too = true;      // also measure pinned if the experiment asks for it
    double limit_s = 30;         // time limit of one process
    double table_s = 0;          // no round of a table begins that would end later than this; 0: all rounds
    double turns_per_us = 0;     // see calibrate_turns_per_us()
    std::string input = {};      // the input of each cell, see settings
};

/// Measures the headline of every experiment, in less than five minutes on two undisturbed processors.
[[nodiscard]] plan tour_plan();

/// Returns the usual plan for all cells at a scale.
[[nodiscard]] plan usual_plan(scale s);

/// Returns the variants of the experiment that `how` measures.
[[nodiscard]] std::vector<variant> variants_of(const experiment& e, const plan& how);

/// Callbacks that report progress.
struct observer {
    /// Called before each process, with the cell that will run and the completed share of the experiment.
    std::function<void(const cell_result& cell, unsigned round, double share)> before;
    /// Called after each process, and again after each round, with the current table. The table omits cells
    /// that have not been measured.
    std::function<void(const experiment& e, std::span<const cell_result> table)> after;
};

/// Runs the cells of `e`. Does not repeat cells that fail. If interrupted, terminates the running process and
/// returns the results so far.
[[nodiscard]] experiment_result run_experiment(const experiment& e, const plan& how, const observer& tell);

/// Returns the largest number of processes that run_experiment() will start.
[[nodiscard]] std::size_t count_processes(const experiment& e, const plan& how);

} // namespace lab
