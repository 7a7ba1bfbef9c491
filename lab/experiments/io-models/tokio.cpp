#include <lab/harness/registry.hpp>

namespace lab::io_models {
namespace {

// Written in Rust: peers/tokio/src/io_models.rs. Only the chained variants have it.
const bool added = add(implementation{.experiment = "io-models",
                                      .name = "tokio",
                                      .title = "Tokio, a task each",
                                      .pinnable = false,
                                      .order = 790,
                                      .program = "ekiden-lab-tokio"});

} // namespace
} // namespace lab::io_models
