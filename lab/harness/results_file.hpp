/// The results file: what this run has found so far and, beside it, the tables of earlier runs.
///
/// Used by: a run of the lab. A table - an experiment's variant, pinned or not - is replaced as a whole, so
/// that whatever is compared in it was measured together. The form is described in lab/README.md.
#pragma once

#include <lab/harness/results.hpp>

#include <cstddef>
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

    /// The tables to which `cells` belong now hold just these. The file describes the variants that `e` has.
    void put(const experiment& e, std::span<const cell_result> cells);

    /// Writes the whole file through another one that takes its name at the end: whenever this process is
    /// killed, the old or the new file is there, whole. Returns whether that went well; says why not on the
    /// standard error output.
    bool write();

    /// Whether the file was so small when last written that writing it after each process disturbs nobody. A
    /// tour's and most quick runs' are; a full run's grows beyond that, and is written after each round.
    [[nodiscard]] bool small() const { return size_ < (2U << 20U); }

private:
    void take_over();
    [[nodiscard]] nlohmann::json document() const;

    std::string path_;
    nlohmann::json head_;
    std::string remark_;
    std::map<std::string, std::vector<nlohmann::json>> cells_; // by experiment
    std::map<std::string, experiment> described_;              // those put, with the variants of this run
    std::size_t size_ = 0;
};

} // namespace lab
