#include <lab/experiments/granularity/granularity.hpp>
#include <lab/harness/registry.hpp>

namespace lab::granularity {
namespace {

std::vector<figure> figures() {
    std::vector<figure> all;
    for (const length& l : lengths)
        all.push_back({.name = l.figure,
                       .title = std::string(l.figure) + " us",
                       .unit = "share",
                       .lower_is_better = false});
    return all;
}

const bool added = add(experiment{
    .name = "granularity",
    .title = "Efficiency over the length of a task",
    .about =
        "Tasks of 0.1 to 1000 us of calibrated work from one producer. Efficiency is the time of the same "
        "work in a plain loop, divided by wall time x cores: 1 is perfect.",
    .source_note =
        "Source: thread-pool tuning article, which advises 1-100 us of work per task and gives no figures.",
    .figures = figures(),
    .variants = {{.name = "lengths", .title = "0.1 to 1000 us", .primary = "1", .headline = "tasks of 1 us"}},
    .order = 4});

} // namespace
} // namespace lab::granularity
