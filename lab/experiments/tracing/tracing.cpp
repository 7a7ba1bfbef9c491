#include <lab/harness/registry.hpp>

namespace lab::tracing {
namespace {

const std::vector<std::string> whole_programs{"ekiden-off", "ekiden", "ekiden-without"};
const std::vector<std::string> events{"ekiden-off", "ekiden",  "lttng-ust", "perf",
                                      "perf-off",   "counter", "clock"};

const bool added = add(experiment{
    .name = "tracing",
    .title = "What a trace costs",
    .about =
        "One thread records moments (marks), or intervals (spans, with two readings of the clock), one after "
        "the other. \"Reading the clock\" is the floor: what the times of an event cost without recording "
        "anything. LTTng-UST writes to memory that its daemon shares, while a session runs; perf has the "
        "kernel "
        "do so, at a breakpoint. A program that does not trace pays what stands in the rows \"off\". For "
        "whole "
        "tasks and locks the row \"ekiden, off\" beside that of a library without a trace tells what it is "
        "to "
        "be able to trace, and the row \"ekiden\" what tracing adds.",
    .figures = {{.name = "ns_per_event", .title = "time per event", .unit = "ns"}},
    .variants = {{.name = "moment", .title = "moment", .headline = "an event", .only = events},
                 {.name = "interval", .title = "interval", .only = events},
                 {.name = "task", .title = "an empty task of a pool", .only = whole_programs},
                 {.name = "lock", .title = "a mutex, uncontended", .only = whole_programs},
                 {.name = "shared-lock", .title = "a mutex of two threads", .only = whole_programs}},
    .pinned_too = true,
    .order = 30});

} // namespace
} // namespace lab::tracing
