#include <lab/experiments/latency/latency.hpp>
#include <lab/peers/onetbb.hpp>

namespace lab::latency {
namespace {

const bool added = peers::add_row<peers::onetbb>("latency", &run<peers::onetbb>);

const bool added_group = peers::add_row<peers::onetbb_task_group>(
    "latency", &run<peers::onetbb_task_group>, "the waiting thread runs the task itself", false);

} // namespace
} // namespace lab::latency
