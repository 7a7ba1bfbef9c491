/// One cell of an experiment's table - one implementation, one variant - as its own process sees it.
///
/// Used by: every experiment. The process asks the cell what to do, measures, and reports each repetition to
/// the driver at once, so that what was measured before a crash is known. Not thread-safe: the thread that
/// runs the cell calls it.
#pragma once

#include <lab/harness/affinity.hpp>
#include <lab/harness/usage.hpp>

#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace lab {

/// How much to measure: `smoke` proves that everything works and times nothing of worth, `quick` takes a few
/// minutes for the whole lab, `full` as long as it takes for narrow spreads.
enum class scale { smoke, quick, full };

[[nodiscard]] const char* to_string(scale s);

/// What the driver asks of a cell's process.
struct settings {
    std::string variant;
    lab::scale scale = scale::smoke;
    unsigned workers = 2;
    unsigned repetitions = 1;
    unsigned round = 0;      // the how-manieth process of this cell, from 0
    bool pinned = false;     // each thread bound to one processor
    double turns_per_us = 0; // of lab::turn(), calibrated once for all
    std::string input = {};  // what the experiment is to work on; its own choice if empty
};

/// What one repetition found.
struct repetition {
    usage used;
    std::map<std::string, double> figures;             // by the names that the experiment declares
    std::map<std::string, std::vector<double>> series; // for plots; added up over repetitions
};

class cell {
public:
    /// Reports go to `report_descriptor`, one line of JSON each.
    cell(settings asked, int report_descriptor);

    [[nodiscard]] const settings& asked() const { return asked_; }
    [[nodiscard]] unsigned workers() const { return asked_.workers; }

    /// The size that fits the scale asked for.
    [[nodiscard]] std::size_t pick(std::size_t smoke, std::size_t quick, std::size_t full) const;

    /// Runs `body` and returns what it used. In a pinned cell the first call binds the threads that exist by
    /// then: warm the system up before.
    template <class Body>
    usage measure(Body&& body) {
        bind_if_asked();
        const usage begin = usage_now();
        std::forward<Body>(body)();
        const usage used = usage_now() - begin;
        measured_s_ += used.wall_s;
        return used;
    }

    /// Whether to measure again after `done` repetitions: until there are as many as asked for, and a few
    /// more of those that take next to no time.
    [[nodiscard]] bool again(unsigned done) const;

    /// In a pinned cell, binds the calling thread to the `index`-th processor. Thread-safe.
    void place_this_thread(unsigned index) const;

    void report(const repetition& done) const;

    /// Tells the driver that the result was wrong, and ends the process without running destructors: a system
    /// that has lost a task may not end otherwise.
    [[noreturn]] void fail(const std::string& reason) const;

    /// Tells the driver that this machine or build cannot show what the cell is about, and ends the process.
    [[noreturn]] void not_applicable(const std::string& reason) const;

    /// How long a wait may see no progress before the rest counts as lost.
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
