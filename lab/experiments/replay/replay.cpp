#include <lab/harness/registry.hpp>

namespace lab::replay {
namespace {

const bool added = add(experiment{
    .name = "replay",
    .title = "A recorded hour of requests, played through each model",
    .about = "",
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
