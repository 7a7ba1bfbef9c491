#include <lab/harness/registry.hpp>

namespace lab::nested_spawn {
namespace {

const bool added = add(experiment{
    .name = "nested-spawn",
    .title = "Tasks that spawn tasks",
    .about =
        "A binary tree of 2^20 - 1 detached tasks, each of which spawns its two children from inside the "
        "system; the clock stops when the last has run. Systems that start a thread per task grow a smaller "
        "tree; the figure is per task.",
    .figures = {{.name = "ns_per_task", .title = "time per task", .unit = "ns"},
                {.name = "cpu_ns_per_task", .title = "CPU time", .unit = "ns"}},
    .variants = {{.name = "tree", .title = "binary tree", .headline = "a spawned task"}},
    .pinned_too = true,
    .order = 3});

} // namespace
} // namespace lab::nested_spawn
