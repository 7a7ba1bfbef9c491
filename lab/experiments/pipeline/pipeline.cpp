#include <lab/harness/registry.hpp>

namespace lab::pipeline {
namespace {

const bool added = add(experiment{
    .name = "pipeline",
    .title = "Pipelines",
    .about =
        "Items pass three stages: a serial source, a parallel stage, and a serial sink. Eight items for each "
        "thread are in flight. Empty: the stages do nothing, so the figure is the cost of an item in the "
        "pipeline. In all other variants, the parallel stage takes 1 us. Uneven: in the parallel stage, "
        "every "
        "16th item takes 20 us, so that later items overtake it. Busy sink: the sink takes 0.5 us, so items "
        "wait for it if there are two or more threads. The sink is ordered, except where the variant "
        "says otherwise.",
    .figures = {{.name = "ns_per_item", .title = "time per item", .unit = "ns"},
                {.name = "cpu_ns_per_item", .title = "CPU time per item", .unit = "ns"}},
    .variants = {{.name = "empty, 1 thread", .title = "empty stages, 1 thread"},
                 {.name = "empty", .title = "empty stages"},
                 {.name = "empty, any order", .title = "empty stages, sink in any order"},
                 {.name = "1 us", .title = "a stage of 1 us", .headline = "1 us stage"},
                 {.name = "1 us, any order", .title = "a stage of 1 us, sink in any order"},
                 {.name = "uneven", .title = "uneven items"},
                 {.name = "busy sink", .title = "a busy sink"}},
    .order = 8});

} // namespace
} // namespace lab::pipeline
