/// Runs experiments: one process per cell and round, the rounds interleaved over the implementations.
///
/// Used by: the command line.
#pragma once

#include <lab/harness/results.hpp>

#include <functional>
#include <string>

namespace lab {

/// How a run is to be done.
struct plan {
    lab::scale scale = lab::scale::quick;
    unsigned workers = 2;
    unsigned rounds = 1;
    unsigned repetitions = 1; // in each process
    bool pinned_too = true;   // also measure pinned, where the experiment asks for it
    double limit_s = 30;      // of one process
    double turns_per_us = 0;  // see calibrate_turns_per_us()
};

/// The usual plan for a scale.
[[nodiscard]] plan usual_plan(scale s);

/// Told before each process: what is about to run, and which share of the experiment is done.
using progress = std::function<void(const cell_result& cell, unsigned round, double share)>;

/// Runs all cells of `e`. Cells that fail are not run again.
[[nodiscard]] experiment_result run_experiment(const experiment& e, const plan& how, const progress& tell);

/// How many processes run_experiment() will start at most.
[[nodiscard]] std::size_t count_processes(const experiment& e, const plan& how);

} // namespace lab
