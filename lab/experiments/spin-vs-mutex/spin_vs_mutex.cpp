#include <lab/experiments/spin-vs-mutex/spin_vs_mutex.hpp>
#include <lab/harness/registry.hpp>

namespace lab::spin_vs_mutex {
namespace {

std::vector<variant> holds_by_contention() {
    std::vector<variant> all;
    for (const contention& how : contentions)
        for (const hold& h : holds)
            all.push_back(
                {.name = std::string(h.name) + ", " + how.name,
                 .title = std::string("held ") + h.name + "; " + how.title,
                 .headline = h.us == 10 && how.name == std::string("crowded") ? "8 threads, 10 us" : ""});
    return all;
}

const bool added = add(experiment{
    .name = "spin-vs-mutex",
    .title = "To spin or to sleep",
    .about = "Threads work with a mutex for a given time, over and over. The source's rule: spin if the "
             "mutex is held for less than a microsecond or seldom wanted; sleep if it is held for long or "
             "wanted by many. A spinning thread takes its processor from who could work: with more threads "
             "than processors, from the one that it waits for.",
    .figures = {{.name = "ns_per_section", .title = "time per section", .unit = "ns"},
                {.name = "cpu_ns_per_section", .title = "CPU time", .unit = "ns"},
                {.name = "longest_wait_ms", .title = "longest wait", .unit = "ms"},
                {.name = "jain_index", .title = "Jain index", .unit = "1", .lower_is_better = false}},
    .variants = holds_by_contention(),
    .order = 37});

} // namespace
} // namespace lab::spin_vs_mutex
