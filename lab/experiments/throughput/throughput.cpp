#include <lab/harness/registry.hpp>

namespace lab::throughput {
namespace {

const bool added = add(experiment{
    .name = "throughput",
    .title = "Throughput of empty tasks",
    .about =
        "One or four threads submit 1,000,000 tasks that only increment a shared counter; the clock stops "
        "when the last has run. Systems that start a thread per task run fewer tasks; the figure is per "
        "task.",
    .source_note =
        "Source: thread-pool tuning article, i7-12650H, Windows 11, MSVC /O2; its times for 1,000,000 "
        "tasks from one thread, divided by their number.",
    .figures = {{.name = "ns_per_task", .title = "time per task", .unit = "ns"},
                {.name = "cpu_ns_per_task", .title = "CPU time", .unit = "ns"}},
    .variants = {{.name = "1 producer", .title = "1 producer", .headline = "an empty task"},
                 {.name = "4 producers", .title = "4 producers"}},
    .source = {{"thread-per-task", "1 producer", "ns_per_task", 847'234, "a thread per task"},
               {"shared-queue-source", "1 producer", "ns_per_task", 2'341, "shared queue"},
               {"ekiden", "1 producer", "ns_per_task", 234, "all steps of tuning"}},
    .pinned_too = true,
    .order = 1});

} // namespace
} // namespace lab::throughput
