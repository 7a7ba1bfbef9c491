#include <lab/harness/registry.hpp>

namespace lab::semaphore {
namespace {

const std::vector<std::string> beside_busy{"ekiden", "condition-semaphore"};

const bool added = add(experiment{
    .name = "semaphore",
    .title = "Semaphores taken and given back",
    .about =
        "Four threads take a permit of a semaphore and give it back, over and over, with one, two and four "
        "permits; and two threads answer each other through two semaphores. A semaphore that hands each "
        "permit over pays a switch of threads per turn. The busy processes are one on each processor.",
    .figures = {{.name = "ns_per_turn", .title = "time per turn", .unit = "ns"},
                {.name = "cpu_ns_per_turn", .title = "CPU time", .unit = "ns"}},
    .variants = {{.name = "1 permit", .title = "4 threads, 1 permit"},
                 {.name = "2 permits", .title = "4 threads, 2 permits", .headline = "4 threads"},
                 {.name = "4 permits", .title = "4 threads, 4 permits"},
                 {.name = "answers", .title = "2 threads answer each other"},
                 {.name = "2 permits, busy",
                  .title = "4 threads, 2 permits, beside busy processes",
                  .only = beside_busy},
                 {.name = "answers, busy",
                  .title = "2 threads answer, beside busy processes",
                  .only = beside_busy}},
    .order = 30});

} // namespace
} // namespace lab::semaphore
