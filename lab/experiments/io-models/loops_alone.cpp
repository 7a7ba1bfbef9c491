#include <lab/experiments/io-models/io_models.hpp>
#include <lab/harness/registry.hpp>

namespace lab::io_models {
namespace {

const bool added = add(implementation{.experiment = "io-models",
                                      .name = "loops-alone",
                                      .title = "the loops alone",
                                      .note = "no contexts: each thread runs its share",
                                      .run = &run_loops_alone,
                                      .order = 900,
                                      .ranked = false});

} // namespace
} // namespace lab::io_models
