/// One cell of an experiment's table, that is, one implementation in one variant, as seen by its own process.
///
/// Used by: every experiment. The process asks the cell what to do, measures, and reports each repetition to
/// the driver immediately. So earlier repetitions are known even after a crash. Not thread-safe: only the
/// thread that runs the cell calls it.
#pragma once

#include <lab/harness/affinity.hpp>
#include <lab/harness/usage.hpp>

#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace lab {

/// How much to measure. `smoke` only proves that everything works, and its times are worthless. `quick` takes
/// a few minutes for the whole lab. `full` takes as long as narrow spreads need.
enum class scale { smoke, quick, full };

[[nodiscard]] const char* to_string(scale s);

/// The request of the driver to a cell's process.
struct settings {
    std::string variant;
    lab::scale scale = scale::smoke;
    unsigned workers = 2;
    unsigned repetitions = 1;
    unsigned round = 0;      // number of this process among the processes of the cell, from 0
    bool pinned = false;     // bind each thread to one processor
    double turns_per_us = 0; // of lab::turn(), calibrated once
    std::string input = {};  // the input of the experiment; the experiment chooses one if it is empty
};

/// The result of one repetition.
struct repetition {
    usage used;
    std::map<std::string, double> figures;             // by the names that the experiment declares
    std::map<std::string, std::vector<double>> series; // for plots; sums over the repetitions
};

class cell {
public:
    /// Writes reports to `report_descriptor`, as one line of JSON each.
    cell(settings asked, int report_descriptor);

    [[nodiscard]] const settings& asked() const { return asked_; }
    [[nodiscard]] unsigned workers() const { return asked_.workers; }

    /// Returns the size for the requested scale.
    [[nodiscard]] std::size_t pick(std::size_t smoke, std::size_t quick, std::size_t full) const;

    /// Runs `body` and returns its usage. In a pinned cell, the first call binds all threads that exist then.
    /// So warm the system up before.
    template <class Body>
    usage measure(Body&& body) {
        bind_if_asked();
        const usage begin = usage_now();
        std::forward<Body>(body)();
        const usage used = usage_now() - begin;
        measured_s_ += used.wall_s;
        return used;
    }

    /// Returns whether to measure again after `done` repetitions. It does so until the requested number is
    /// reached. Repetitions that take almost no time get a few more.
    [[nodiscard]] bool again(unsigned done) const;

    /// In a pinned cell, binds the calling thread to processor number `index`. Thread-safe.
    void place_this_thread(unsigned index) const;

    void report(const repetition& done) const;

    /// Tells the driver that the result was wrong. Terminates the process without destructors, because the
    /// destructor of a system that has lost a task may never return.
    [[noreturn]] void fail(const std::string& reason) const;

    /// Tells the driver that this machine or build cannot run the cell. Terminates the process.
    [[noreturn]] void not_applicable(const std::string& reason) const;

    /// Returns how long a wait may make no progress before the missing tasks count as lost.
    [[nodiscard]] double patience_s() const { return asked_.scale == scale::smoke ? 3.0 : 5.0; }

private:
    void bind_if_asked();
    void send(const std::string& line) const;

    settings asked_;
    int report_descriptor_;
    std::vector<int> cpus_;
    bool bound_ = false;
    double measured_s_ = 0;
};

} // namespace lab
