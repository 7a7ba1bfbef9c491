/// What a run of the lab has found, and its form as JSON. The form is described in lab/README.md.
///
/// Used by: the driver (fills it), the terminal table, the command line (writes it).
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
    std::string reason; // why it is not ok
    std::vector<repetition> repetitions;
    std::string scale;   // of the run that measured it
    unsigned rounds = 0; // how many are in `repetitions`
    std::string date;    // when the last of them ended

    /// The figure over all repetitions that have it; nothing if none has, or the cell is not ok.
    [[nodiscard]] std::optional<summary> figure(const std::string& name) const;

    /// The same for wall, CPU time and switches.
    [[nodiscard]] std::optional<summary> of_usage(double (*part)(const usage&)) const;
};

[[nodiscard]] const char* to_string(cell_result::state s);

struct experiment_result {
    experiment what;
    std::vector<cell_result> cells;
};

/// The figure in which the implementations of a variant are compared.
[[nodiscard]] const figure& primary_figure(const experiment& e, const std::string& variant);

/// The experiment without cells.
[[nodiscard]] nlohmann::json to_json(const experiment& e);

[[nodiscard]] nlohmann::json to_json(const experiment& e, const cell_result& cell);

} // namespace lab
