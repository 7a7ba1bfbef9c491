#include <lab/harness/registry.hpp>

namespace lab::socket_echo {
namespace {

// Written in Rust: peers/tokio/src/echo.rs.
const bool added = add(implementation{.experiment = "socket-echo",
                                      .name = "tokio",
                                      .title = "Tokio",
                                      .note = "a runtime of one thread for each end",
                                      .pinnable = false,
                                      .order = 70,
                                      .program = "ekiden-lab-tokio"});

} // namespace
} // namespace lab::socket_echo
