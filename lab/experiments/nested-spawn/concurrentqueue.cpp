#include <lab/experiments/nested-spawn/nested_spawn.hpp>
#include <lab/peers/concurrentqueue.hpp>

namespace lab::nested_spawn {
namespace {

const bool added = peers::add_row<peers::concurrentqueue<1>>("nested-spawn", &run<peers::concurrentqueue<1>>);

const bool added_bulk = peers::add_row<peers::concurrentqueue<16>>(
    "nested-spawn", &run<peers::concurrentqueue<16>>, "workers take up to 16 tasks at once");

} // namespace
} // namespace lab::nested_spawn
