/// What the lab knows: experiments, their implementations, and peers whose package is missing.
///
/// Used by: the experiments, which add themselves during static initialisation, and the driver.
#pragma once

#include <lab/harness/cell.hpp>

#include <string>
#include <vector>

namespace lab {

/// A number that an experiment finds in each repetition.
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
    std::string primary = {};  // the figure compared here; the experiment's first one if empty
    bool full_only = false;    // too long for a quick run
    std::string headline = {}; // of the one that the tour shows: what it is, in at most 16 characters
    std::vector<std::string> only = {}; // the names of implementations that take part; all if empty
};

/// A figure that a source published for a comparable implementation.
struct published {
    std::string implementation;
    std::string variant;
    std::string figure;
    double value = 0;
    std::string label; // the source's name for it
};

struct experiment {
    std::string name; // as on the command line
    std::string title;
    std::string about;            // what is measured and how to read it
    std::string source_note = {}; // where the published figures come from; empty without them
    std::vector<figure> figures;  // the first one is compared unless a variant says otherwise
    std::vector<variant> variants;
    std::vector<published> source = {};
    bool pinned_too = false; // a quick run, too, measures it also with every thread bound to one processor
    bool counts_allocations = false; // its processes run with the counting allocator in front
    bool one_round = false;          // counts rather than times: repeating finds nothing new
    bool for_tests = false;          // run only when named
    int order = 0;                   // place in the list
};

/// One row of an experiment's table.
struct implementation {
    std::string experiment;
    std::string name;
    std::string title;
    std::string note = {}; // what a reader must know to compare it
    void (*run)(cell&) = nullptr;
    bool pinnable = true;     // false: starts threads as it goes, which cannot be bound one by one
    int order = 0;            // place in the table
    std::string program = {}; // the executable beside this one that runs it; empty: this one
    bool ranked = true;       // false: does something easier than the others; shown, but wins nothing
};

/// A row that cannot be measured because its package was not found when the lab was built.
struct missing_implementation {
    std::string experiment;
    std::string title;
    std::string package;
    std::string name = {}; // that of its rows, or how they begin
};

/// A library beside which ekiden is measured.
struct peer {
    std::string name;
    std::string package;
    std::string version; // "not installed" where missing
};

bool add(experiment e);
bool add(implementation i);

/// In their order, then by name.
[[nodiscard]] std::vector<experiment> experiments();
[[nodiscard]] std::vector<implementation> implementations();

/// The variant of `e` that the tour measures: the one with a headline, or else the first.
[[nodiscard]] const variant& headline_of(const experiment& e);

/// Written by the build.
[[nodiscard]] const std::vector<missing_implementation>& missing_implementations();
[[nodiscard]] const std::vector<peer>& known_peers();

} // namespace lab
