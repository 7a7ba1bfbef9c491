/// The results file. It contains the tables of this run and those of earlier runs.
///
/// Used by: a run of the lab. A table is a variant of an experiment, pinned or not. It is replaced as a
/// whole, so that results in one table were always measured together. lab/README.md describes the form.
#pragma once

#include <lab/harness/results.hpp>

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

    /// Like write(), but writes at most once in five seconds, because each write creates the whole file. The
    /// first call writes. Returns true if it does not write.
    bool write_if_due();

private:
    void take_over();
    [[nodiscard]] nlohmann::json document() const;

    std::string path_;
    nlohmann::json head_;
    std::string remark_;
    std::map<std::string, std::vector<nlohmann::json>> cells_; // by the name of the experiment
    std::map<std::string, experiment> described_; // the experiments of this run, with its variants
    double due_s_ = 0;                            // when write_if_due() next writes
};

} // namespace lab
