#include <lab/harness/registry.hpp>

namespace lab::coroutine_hop {
namespace {

// Written in Go: peers/go/hop.go.
const bool added = add(implementation{.experiment = "coroutine-hop",
                                      .name = "go",
                                      .title = "Go, hand-over",
                                      .note = "no strand: pairs that hand over a number",
                                      .pinnable = false,
                                      .order = 80,
                                      .program = "ekiden-lab-go",
                                      .ranked = false});

} // namespace
} // namespace lab::coroutine_hop
