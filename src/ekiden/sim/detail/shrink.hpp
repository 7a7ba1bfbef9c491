/// Shrinks the tape of a failing run. The result has fewer steps out of order and fewer faults, but fails in
/// the same way.
///
/// Part: sim. Used by: explore. Private. Like the test library Hypothesis, the shrinker deletes spans of
/// choices, sets spans to zero, and lowers single values.
#pragma once

#include <ekiden/sim/detail/runner.hpp>

#include <cstddef>

namespace ekiden::inline EKIDEN_ABI::sim {

class shrinker {
public:
    /// `smallest` must be the outcome of a failed run.
    shrinker(runner& with, outcome smallest, unsigned most_runs)
        : with_(with), smallest_(std::move(smallest)), left_(most_runs) {}

    /// Returns the smallest failing outcome that was found. Returns early if the system cannot provide a
    /// thread or memory for another run.
    [[nodiscard]] outcome run();

private:
    [[nodiscard]] bool try_tape(tape candidate);
    bool switch_faults_off();
    bool change_spans(stream of, bool deletes);
    bool lower_values(stream of);

    runner& with_;
    outcome smallest_;
    unsigned left_; // number of runs that the shrinker may still make
};

} // namespace ekiden::inline EKIDEN_ABI::sim
