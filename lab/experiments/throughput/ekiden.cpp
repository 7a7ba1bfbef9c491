#include <lab/experiments/throughput/throughput.hpp>
#include <lab/peers/ekiden.hpp>

namespace lab::throughput {
namespace {

const bool added = peers::add_row<peers::ekiden>("throughput", &run<peers::ekiden>);

const bool added_bulk = add(implementation{.experiment = "throughput",
                                           .name = "ekiden-post-bulk",
                                           .title = "ekiden post_bulk",
                                           .note = "one call per producer submits all tasks",
                                           .run = &run<peers::ekiden, in_bulk>,
                                           .order = 2});

} // namespace
} // namespace lab::throughput
