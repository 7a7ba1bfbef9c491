#include <lab/harness/registry.hpp>

namespace lab::timers {
namespace {

// Written in Rust: peers/tokio/src/timers.rs.
const bool added = add(implementation{.experiment = "timers",
                                      .name = "tokio",
                                      .title = "Tokio",
                                      .note = "counts milliseconds; a wait is cancelled by dropping it, and "
                                              "nobody is told",
                                      .pinnable = false,
                                      .order = 70,
                                      .program = "ekiden-lab-tokio",
                                      .ranked = false});

} // namespace
} // namespace lab::timers
