#include <lab/experiments/nested-spawn/nested_spawn.hpp>
#include <lab/peers/thread_per_task.hpp>

namespace lab::nested_spawn {
namespace {

const bool added = peers::add_row<peers::thread_per_task>("nested-spawn", &run<peers::thread_per_task>,
                                                          "smaller tree: 4,095 tasks");

} // namespace
} // namespace lab::nested_spawn
