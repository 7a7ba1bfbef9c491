#include <lab/experiments/nested-spawn/nested_spawn.hpp>
#include <lab/peers/shared_queue_source.hpp>

namespace lab::nested_spawn {
namespace {

const bool added =
    peers::add_row<peers::shared_queue_source>("nested-spawn", &run<peers::shared_queue_source>);

} // namespace
} // namespace lab::nested_spawn
