#include <lab/harness/registry.hpp>

namespace lab::tracing {
namespace {

const std::vector<std::string> whole_programs{"ekiden-off", "ekiden"};

const bool added = add(experiment{
    .name = "tracing",
    .title = "What a trace costs",
    .about =
        "One thread records moments (marks), or intervals (spans, with two readings of the clock), one after "
        "the other. \"Reading the clock\" is the floor: what the times of an event cost without recording "
        "anything. LTTng-UST writes to memory that its daemon shares, while a session runs. A program that "
        "does not trace pays what stands in the row \"off\"; for whole tasks and "
        "locks, a run of the rows \"off\" and \"on\" tells what tracing adds to them.",
    .figures = {{.name = "ns_per_event", .title = "time per event", .unit = "ns"}},
    .variants = {{.name = "moment", .title = "moment", .headline = "an event"},
                 {.name = "interval", .title = "interval"},
                 {.name = "task", .title = "an empty task of a pool", .only = whole_programs},
                 {.name = "lock", .title = "a mutex, uncontended", .only = whole_programs}},
    .pinned_too = true,
    .order = 30});

} // namespace
} // namespace lab::tracing
