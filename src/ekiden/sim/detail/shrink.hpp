/// Makes the tape of a run that has failed smaller: fewer steps out of order, fewer faults, the same failure.
///
/// Part: sim. Used by: explore. Private. After Hypothesis' passes: delete spans, zero spans, lower values.
#pragma once

#include <ekiden/sim/detail/runner.hpp>

#include <cstddef>

namespace ekiden::inline EKIDEN_ABI::sim {

class shrinker {
public:
    /// `smallest`: an outcome that has failed.
    shrinker(runner& with, outcome smallest, unsigned most_runs)
        : with_(with), smallest_(std::move(smallest)), left_(most_runs) {}

    /// The smallest one found. Ends early if the system gives no thread or no memory for one more run.
    [[nodiscard]] outcome run();

private:
    [[nodiscard]] bool try_tape(tape candidate);
    bool switch_faults_off();
    bool change_spans(stream of, bool deletes);
    bool lower_values(stream of);

    runner& with_;
    outcome smallest_;
    unsigned left_; // runs
};

} // namespace ekiden::inline EKIDEN_ABI::sim
