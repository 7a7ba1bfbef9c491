#include <lab/harness/registry.hpp>

namespace lab::lanes {
namespace {

const bool added = add(experiment{
    .name = "lanes",
    .title = "Tasks in order per key",
    .about =
        "One or four threads post 400,000 tasks (a full run: 2,000,000) with keys; the tasks of a key "
        "must run in the order "
        "of posting and one at a time, different keys in parallel. Keys are drawn beforehand, uniformly "
        "or after Zipf's "
        "law (exponent 0.99), out of 10,000 or 1,000,000. The lanes and the queues by hand run on ekiden's "
        "pool; Asio's strands "
        "on its own pool. Systems that need something for each key get it before the clock runs, in an "
        "array. A hot key: "
        "one key always has 1,000 tasks of 5 us waiting for one worker; how long does a task of another "
        "key wait? Idle "
        "keys: the memory that the process has gained, per key, after each of 1,000,000 keys had one task.",
    .figures = {{.name = "ns_per_task", .title = "time per task", .unit = "ns"},
                {.name = "cpu_ns", .title = "CPU time", .unit = "ns"},
                {.name = "out_of_order", .title = "out of order", .unit = "share"},
                {.name = "longest_delay_us", .title = "longest delay", .unit = "us"},
                {.name = "median_delay_us", .title = "median delay", .unit = "us"},
                {.name = "bytes_per_key", .title = "bytes per key", .unit = "1"}},
    .variants = {{.name = "Zipf, 10,000 keys, 4 producers",
                  .title = "Zipf, 10,000 keys, 4 producers",
                  .headline = "a task with key"},
                 {.name = "Zipf, 10,000 keys, 1 producer", .title = "Zipf, 10,000 keys, 1 producer"},
                 {.name = "uniform, 10,000 keys, 4 producers",
                  .title = "uniform, 10,000 keys, 4 producers",
                  .full_only = true},
                 {.name = "uniform, 10,000 keys, 1 producer", .title = "uniform, 10,000 keys, 1 producer"},
                 {.name = "Zipf, 1,000,000 keys, 4 producers",
                  .title = "Zipf, 1,000,000 keys, 4 producers",
                  .full_only = true},
                 {.name = "Zipf, 1,000,000 keys, 1 producer",
                  .title = "Zipf, 1,000,000 keys, 1 producer",
                  .full_only = true},
                 {.name = "uniform, 1,000,000 keys, 4 producers",
                  .title = "uniform, 1,000,000 keys, 4 producers"},
                 {.name = "uniform, 1,000,000 keys, 1 producer",
                  .title = "uniform, 1,000,000 keys, 1 producer",
                  .full_only = true},
                 {.name = "hot",
                  .title = "longest delay while another key is hot, 1 worker",
                  .primary = "longest_delay_us"},
                 {.name = "idle", .title = "idle keys, bytes per key", .primary = "bytes_per_key"}},
    .order = 24});

} // namespace
} // namespace lab::lanes
