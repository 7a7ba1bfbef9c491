/// The results file. It contains the tables of this run and those of earlier runs.
///
/// Used by: a run of the lab. A table is a variant of an experiment, pinned or not. It is replaced as a
/// whole, so that results in one table were always measured together. lab/README.md describes the form.
#pragma once

#include <lab/harness/results.hpp>

#include <cstddef>
#include <map>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

namespace lab {

/// Must change when readers of the file must change.
inline constexpr int results_schema = 2;

class results_file {
public:
    /// `head` is everything except the experiments. Keeps the tables of the file at `path` if they can be
    /// compared with this run. If not (another form, machine, compiler or number of workers), renames the
    /// file to `path`.old, and remark() says so.
    results_file(std::string path, nlohmann::json head);

    [[nodiscard]] const std::string& remark() const { return remark_; }

    /// Returns everything except the experiments. The caller updates it during the run.
    [[nodiscard]] nlohmann::json& head() { return head_; }

    /// Replaces the tables that `cells` belong to. The file describes the variants that `e` has.
    void put(const experiment& e, std::span<const cell_result> cells);

    /// Writes the whole file under another name, then renames it. So if this process is killed, either the
    /// old or the new file exists completely. Returns whether it succeeded. Prints the reason to standard
    /// error if it did not.
    bool write();

    /// Returns whether the file is small enough to write it after each process without disturbing the
    /// measurement. The file of a full run is larger and is written after each round.
    [[nodiscard]] bool small() const { return size_ < (2U << 20U); }

private:
    void take_over();
    [[nodiscard]] nlohmann::json document() const;

    std::string path_;
    nlohmann::json head_;
    std::string remark_;
    std::map<std::string, std::vector<nlohmann::json>> cells_; // by the name of the experiment
    std::map<std::string, experiment> described_; // the experiments of this run, with its variants
    std::size_t size_ = 0;
};

} // namespace lab
