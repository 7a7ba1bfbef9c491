#include <lab/harness/registry.hpp>

namespace lab::io_models {
namespace {

// Written in Go: peers/go/main.go. Only the chained variants have it.
const bool added = add(implementation{.experiment = "io-models",
                                      .name = "go",
                                      .title = "Go, a goroutine each",
                                      .pinnable = false,
                                      .order = 800,
                                      .program = "ekiden-lab-go"});

} // namespace
} // namespace lab::io_models
