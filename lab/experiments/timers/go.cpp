#include <lab/harness/registry.hpp>

namespace lab::timers {
namespace {

// Written in Go: peers/go/timers.go.
const bool added = add(implementation{.experiment = "timers",
                                      .name = "go",
                                      .title = "Go",
                                      .note = "time.AfterFunc; of a timer that is stopped nobody is told",
                                      .pinnable = false,
                                      .order = 80,
                                      .program = "ekiden-lab-go",
                                      .ranked = false});

} // namespace
} // namespace lab::timers
