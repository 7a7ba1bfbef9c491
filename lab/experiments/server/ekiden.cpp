#include <lab/experiments/server/drive.hpp>
#include <lab/harness/registry.hpp>

namespace lab::server {
namespace {

void run_lanes(cell& c) { drive(c, "lanes"); }
void run_single(cell& c) { drive(c, "single"); }

const bool added = add(implementation{.experiment = "server",
                                      .name = "ekiden",
                                      .title = "ekiden lanes",
                                      .run = &run_lanes,
                                      .pinnable = false,
                                      .order = 1});

const bool added_single = add(implementation{.experiment = "server",
                                             .name = "single",
                                             .title = "network's thread alone",
                                             .run = &run_single,
                                             .pinnable = false,
                                             .order = 70});

} // namespace
} // namespace lab::server
