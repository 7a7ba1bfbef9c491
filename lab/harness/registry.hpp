/// The experiments and implementations of the lab, and the peers whose package is missing.
///
/// Used by: the experiments, which add themselves during static initialization, and the driver.
#pragma once

#include <lab/harness/cell.hpp>

#include <string>
#include <vector>

namespace lab {

/// A number that an experiment measures in each repetition.
struct figure {
    std::string name; // key in repetition::figures
    std::string title;
    std::string unit; // "ns", "us", "ms", "s", "share", "count", "1"
    bool lower_is_better = true;
};

/// One setting of an experiment in which all implementations are compared.
struct variant {
    std::string name;
    std::string title;
    std::string primary = {};  // the figure to compare; empty: the experiment's first one
    bool full_only = false;    // too long for a quick run
    std::string headline = {}; // the name in the tour, in at most 16 characters; empty: not in the tour
    std::vector<std::string> only = {}; // the names of the implementations that take part; empty: all
};

/// A figure that a source published for a comparable implementation.
struct published {
    std::string implementation;
    std::string variant;
    std::string figure;
    double value = 0;
    std::string label; // its name in the source
};

struct experiment {
    std::string name; // as on the command line
    std::string title;
    std::string about;            // what is measured, and how to read it
    std::string source_note = {}; // the origin of the published figures; empty if there are none
    std::vector<figure> figures;  // the first one is compared, unless a variant names another
    std::vector<variant> variants;
    std::vector<published> source = {};
    bool pinned_too = false;         // a quick run also measures it with every thread bound to one processor
    bool counts_allocations = false; // its processes run with the counting allocator
    bool one_round = false;          // it counts instead of measuring times, so repetitions add nothing
    bool for_tests = false;          // runs only if it is named
    int order = 0;                   // position in the list
};

/// One row of an experiment's table.
struct implementation {
    std::string experiment;
    std::string name;
    std::string title;
    std::string note = {}; // what a reader must know to compare it
    void (*run)(cell&) = nullptr;
    bool pinnable = true;     // false: it starts threads during the run, which cannot be bound individually
    int order = 0;            // position in the table
    std::string program = {}; // the executable, in the same folder, that runs it; empty: this one
    bool ranked = true;       // false: does less than the others; it is shown, but cannot win
    std::string manner = {};  // a word, such as "spins": rows with the same word are compared with each other
};

/// A row that cannot be measured because its package was not found when the lab was built.
struct missing_implementation {
    std::string experiment;
    std::string title;
    std::string package;
    std::string name = {};   // the name of its rows, or their common beginning
    std::string reason = {}; // why this system cannot have it; empty: only the package is missing
};

/// A library that is compared with ekiden.
struct peer {
    std::string name;
    std::string package;
    std::string version; // "not installed" if it is missing
};

bool add(experiment e);
bool add(implementation i);

/// Return all of them in their order, then by name.
[[nodiscard]] std::vector<experiment> experiments();
[[nodiscard]] std::vector<implementation> implementations();

/// Returns the variant of `e` that the tour measures: the variant with a headline, or the first.
[[nodiscard]] const variant& headline_of(const experiment& e);

/// The build generates these.
[[nodiscard]] const std::vector<missing_implementation>& missing_implementations();
[[nodiscard]] const std::vector<peer>& known_peers();

} // namespace lab
