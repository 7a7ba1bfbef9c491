/// The results file: what this run has found so far and, beside it, the tables of earlier runs.
///
/// Used by: a run of the lab. A table - an experiment's variant, pinned or not - is replaced as a whole, so
/// that whatever is compared in it was measured together. The form is described in lab/README.md.
#pragma once

#include <lab/harness/results.hpp>

#include <map>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

namespace lab {

/// Changes when a reader of the file must change.
inline constexpr int results_schema = 2;

class results_file {
public:
    /// `head` is everything but the experiments. Takes over the tables that the file at `path` holds; if they
    /// are not comparable with this run - another form, machine, compiler, number of workers - the file is
    /// set aside as `path`.old instead, and remark() says so.
    results_file(std::string path, nlohmann::json head);

    [[nodiscard]] const std::string& remark() const { return remark_; }

    /// Everything but the experiments, to be changed as the run goes on.
    [[nodiscard]] nlohmann::json& head() { return head_; }

    /// The tables to which `cells` belong now hold just these.
    void put(const experiment& e, std::span<const cell_result> cells);

    /// Writes the whole file through another one that takes its name at the end: whenever this process is
    /// killed, the old or the new file is there, whole. Returns whether that went well; says why not on the
    /// standard error output.
    bool write();

    /// The same, unless that took more than a fiftieth of the time since the last one ended: a file that has
    /// become large shall not disturb the run. Returns false only after a failure.
    bool write_if_cheap();

private:
    void take_over();
    [[nodiscard]] nlohmann::json document() const;

    std::string path_;
    nlohmann::json head_;
    std::string remark_;
    std::map<std::string, std::vector<nlohmann::json>> cells_; // by experiment
    double last_end_s_ = 0;
    double last_cost_s_ = 0;
};

} // namespace lab
