#include <lab/harness/registry.hpp>

namespace lab::channel {
namespace {

// Written in Go: peers/go/channel.go.
const bool added = add(implementation{.experiment = "channel",
                                      .name = "go",
                                      .title = "Go",
                                      .note = "channels of goroutines",
                                      .pinnable = false,
                                      .order = 80,
                                      .program = "ekiden-lab-go"});

} // namespace
} // namespace lab::channel
