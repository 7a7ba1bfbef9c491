/// A peer's row in the tables: the same name and place in every experiment.
///
/// Used by: every peer (as its member `row`) and the implementations' files.
#pragma once

#include <lab/harness/registry.hpp>

namespace lab::peers {

struct row {
    const char* name;
    const char* title;
    int order;
    bool pinnable = true; // false: it starts threads during the run
};

/// Adds System's row to an experiment.
template <class System>
bool add_row(const char* experiment, void (*run)(cell&), const char* note = "", bool ranked = true,
             const char* manner = "") {
    const row& r = System::row;
    return add(implementation{.experiment = experiment,
                              .name = r.name,
                              .title = r.title,
                              .note = note,
                              .run = run,
                              .pinnable = r.pinnable,
                              .order = r.order,
                              .ranked = ranked,
                              .manner = manner});
}

} // namespace lab::peers
