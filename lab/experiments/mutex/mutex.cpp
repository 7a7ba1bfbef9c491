#include <lab/harness/registry.hpp>

namespace lab::mutex {
namespace {

const std::vector<std::string> beside_busy{"ekiden", "ekiden-hybrid", "ekiden-spin", "std-mutex"};

const bool added = add(experiment{
    .name = "mutex",
    .title = "Mutexes with tiny sections",
    .about =
        "Threads take a mutex, add one to a counter and release it, over and over; and one thread alone. "
        "With more "
        "threads than processors a mutex that lets running threads overtake keeps the throughput; the "
        "longest "
        "wait (sampled) and Jain's index of the threads' shares (1: equal) show what that costs the others. "
        "Mutexes that hand over strictly pay a context switch per section. The busy processes are one on "
        "each "
        "processor.",
    .figures = {{.name = "ns_per_section", .title = "time per section", .unit = "ns"},
                {.name = "cpu_ns_per_section", .title = "CPU time", .unit = "ns"},
                {.name = "longest_wait_ms", .title = "longest wait", .unit = "ms"},
                {.name = "jain_index", .title = "Jain index", .unit = "1", .lower_is_better = false}},
    .variants = {{.name = "free", .title = "one thread"},
                 {.name = "2 threads", .title = "2 threads"},
                 {.name = "8 threads", .title = "8 threads"},
                 {.name = "64 threads", .title = "64 threads", .headline = "64 threads"},
                 {.name = "8 threads, busy",
                  .title = "8 threads, beside busy processes",
                  .only = beside_busy}},
    .order = 30});

} // namespace
} // namespace lab::mutex
