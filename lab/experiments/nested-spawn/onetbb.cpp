#include <lab/experiments/nested-spawn/nested_spawn.hpp>
#include <lab/peers/onetbb.hpp>

namespace lab::nested_spawn {
namespace {

const bool added =
    peers::add_row<peers::onetbb>("nested-spawn", &run<peers::onetbb>, "spawned with task_group::run");

const bool added_group = peers::add_row<peers::onetbb_task_group>(
    "nested-spawn", &run<peers::onetbb_task_group>, "the producer is a member of the team");

} // namespace
} // namespace lab::nested_spawn
