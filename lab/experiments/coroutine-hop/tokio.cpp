#include <lab/harness/registry.hpp>

namespace lab::coroutine_hop {
namespace {

// Written in Rust: peers/tokio/src/hop.rs.
const bool added = add(implementation{.experiment = "coroutine-hop",
                                      .name = "tokio",
                                      .title = "Tokio, yield_now",
                                      .note = "no strand: to the end of the worker's queue",
                                      .pinnable = false,
                                      .order = 70,
                                      .program = "ekiden-lab-tokio",
                                      .ranked = false});

} // namespace
} // namespace lab::coroutine_hop
