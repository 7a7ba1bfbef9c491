/// The results of a run, and their form in JSON. lab/README.md describes the form.
///
/// Used by: the driver (fills them), the terminal table, the command line (writes them).
#pragma once

#include <lab/harness/cell.hpp>
#include <lab/harness/registry.hpp>
#include <lab/harness/statistics.hpp>

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace lab {

/// One cell: an implementation in a variant, pinned or not.
struct cell_result {
    enum class state { ok, failed, not_installed, not_applicable };

    implementation what;
    std::string variant;
    bool pinned = false;
    state status = state::ok;
    std::string reason; // the reason if it is not ok
    std::vector<repetition> repetitions;
    std::string scale;   // the scale of the run that measured it
    unsigned rounds = 0; // the number of rounds in `repetitions`
    std::string date;    // when the last round ended

    /// Returns the figure over all repetitions that have it. Empty if none has it, or if the cell is not ok.
    [[nodiscard]] std::optional<summary> figure(const std::string& name) const;

    /// Like figure(), for wall time, CPU time and context switches.
    [[nodiscard]] std::optional<summary> of_usage(double (*part)(const usage&)) const;
};

[[nodiscard]] const char* to_string(cell_result::state s);

struct experiment_result {
    experiment what;
    std::vector<cell_result> cells;
};

/// Returns the figure in which the implementations of a variant are compared.
[[nodiscard]] const figure& primary_figure(const experiment& e, const std::string& variant);

/// Converts the experiment without its cells.
[[nodiscard]] nlohmann::json to_json(const experiment& e);

[[nodiscard]] nlohmann::json to_json(const experiment& e, const cell_result& cell);

} // namespace lab
