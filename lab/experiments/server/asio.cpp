#include <lab/experiments/server/drive.hpp>
#include <lab/harness/registry.hpp>

namespace lab::server {
namespace {

void run_strands(cell& c) { drive(c, "strand-per-key"); }
void run_mutex(cell& c) { drive(c, "global-mutex"); }

const bool added = add(implementation{.experiment = "server",
                                      .name = "asio",
                                      .title = "Asio",
                                      .note = "a strand per key",
                                      .run = &run_strands,
                                      .pinnable = false,
                                      .order = 41});

const bool added_mutex = add(implementation{.experiment = "server",
                                            .name = "global-mutex",
                                            .title = "one mutex",
                                            .note = "on Asio's pool, a strand per connection",
                                            .run = &run_mutex,
                                            .pinnable = false,
                                            .order = 60});

} // namespace
} // namespace lab::server
