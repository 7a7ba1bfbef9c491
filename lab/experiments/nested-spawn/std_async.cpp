#include <lab/experiments/nested-spawn/nested_spawn.hpp>
#include <lab/peers/std_async.hpp>

namespace lab::nested_spawn {
namespace {

const bool added =
    peers::add_row<peers::std_async>("nested-spawn", &run<peers::std_async>, "smaller tree: 4,095 tasks");

} // namespace
} // namespace lab::nested_spawn
