#include <lab/experiments/nested-spawn/nested_spawn.hpp>
#include <lab/peers/openmp.hpp>

namespace lab::nested_spawn {
namespace {

const bool added =
    peers::add_openmp("nested-spawn", &run<peers::openmp>, "runs a task inline if many wait", true, "inline");

} // namespace
} // namespace lab::nested_spawn
