#include <lab/harness/registry.hpp>

namespace lab::socket_echo {
namespace {

// Written in Go: peers/go/echo.go.
const bool added = add(implementation{.experiment = "socket-echo",
                                      .name = "go",
                                      .title = "Go",
                                      .note = "two threads for both ends",
                                      .pinnable = false,
                                      .order = 80,
                                      .program = "ekiden-lab-go"});

} // namespace
} // namespace lab::socket_echo
