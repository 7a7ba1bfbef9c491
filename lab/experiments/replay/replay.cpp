#include <lab/harness/registry.hpp>

namespace lab::replay {
namespace {

const bool added = add(experiment{
    .name = "replay",
    .title = "Requests as they came, through each model",
    .about =
        "A trace says when each request came, for which key, and how long it took; three lie in lab/traces. "
        "Each model gets it at its own rate. The loop is open: a request is sent when it is due, whatever "
        "became of those before, and its delay counts from then, so a model that is late has nothing hidden. "
        "Work is a number of turns, calibrated before; waiting is a sleep. Each run proves that every "
        "request "
        "was served once, with the right result, and in the order that the model promises. Those that "
        "promise "
        "less than the order of each key are shown, but win nothing. './dev lab replay FILE' takes a trace "
        "of "
        "your own, looks for the rate that each model keeps up with, and says which to take.",
    .figures = {{.name = "p99_us", .title = "P99 of the delay", .unit = "us"},
                {.name = "p50_us", .title = "P50", .unit = "us"},
                {.name = "p999_us", .title = "P99.9", .unit = "us"},
                {.name = "rate", .title = "served a second", .unit = "count", .lower_is_better = false},
                {.name = "cpu_us", .title = "CPU time of a request", .unit = "us"},
                {.name = "memory_kib", .title = "memory, KiB", .unit = "count"},
                {.name = "overtaken", .title = "overtaken", .unit = "share"},
                {.name = "sustained", .title = "keeps up", .unit = "share", .lower_is_better = false},
                {.name = "lag_p99_us", .title = "P99 of the clients' lag", .unit = "us"},
                {.name = "promise", .title = "promise", .unit = "count"},
                {.name = "drift", .title = "drift of the processor", .unit = "share"}},
    .variants = {{.name = "accumulator", .title = "source 1's accumulator", .headline = "P99, a trace"},
                 {.name = "server", .title = "redis-benchmark at the ordered server"},
                 {.name = "etc", .title = "a cache at Facebook, made up of the published figures"}},
    .order = 30});

} // namespace
} // namespace lab::replay
