#include <lab/experiments/throughput/throughput.hpp>
#include <lab/peers/onetbb.hpp>

namespace lab::throughput {
namespace {

const bool added = peers::add_row<peers::onetbb>("throughput", &run<peers::onetbb>);

const bool added_group = peers::add_row<peers::onetbb_task_group>(
    "throughput", &run<peers::onetbb_task_group>, "the producer is a member of the team");

} // namespace
} // namespace lab::throughput
