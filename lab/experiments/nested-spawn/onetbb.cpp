#include <lab/experiments/nested-spawn/nested_spawn.hpp>
#include <lab/peers/onetbb.hpp>

namespace lab::nested_spawn {
namespace {

const bool added =
    peers::add_row<peers::onetbb>("nested-spawn", &run<peers::onetbb>, "spawned with task_group::run");

} // namespace
} // namespace lab::nested_spawn
