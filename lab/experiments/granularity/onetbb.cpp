#include <lab/experiments/granularity/granularity.hpp>
#include <lab/peers/onetbb.hpp>

namespace lab::granularity {
namespace {

const bool added = peers::add_row<peers::onetbb>("granularity", &run<peers::onetbb>);

const bool added_group = peers::add_row<peers::onetbb_task_group>(
    "granularity", &run<peers::onetbb_task_group>, "the producer is a member of the team", true, "team");

} // namespace
} // namespace lab::granularity
