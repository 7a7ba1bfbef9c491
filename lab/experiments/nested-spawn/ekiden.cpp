#include <lab/experiments/nested-spawn/nested_spawn.hpp>
#include <lab/peers/ekiden.hpp>

namespace lab::nested_spawn {
namespace {

const bool added = peers::add_row<peers::ekiden>("nested-spawn", &run<peers::ekiden>);

} // namespace
} // namespace lab::nested_spawn
