#include <lab/harness/registry.hpp>

namespace lab::channel {
namespace {

// Threads that wait for each other need at least two threads. A channel without locks may have only one
// thread.
const std::vector<std::string> on_two_threads{"ekiden", "ekiden-context", "ekiden-threads", "ekiden-mixed",
                                              "asio",   "async-channel",  "tokio",          "tokio-unbounded",
                                              "go"};
const std::vector<std::string> on_one_thread{
    "ekiden", "ekiden-context", "asio", "asio-unlocked", "async-channel", "tokio", "tokio-unbounded", "go"};

const bool added = add(experiment{
    .name = "channel",
    .title = "Channels between coroutines",
    .about =
        "Eight producers pass 400,000 numbers (a full run: 4,000,000) to eight consumers or to one, "
        "through a channel with room for 64, on one or two threads. Balanced: nobody does anything else. "
        "Full: a consumer works 200 ns for each item that it has got, so that producers wait for room. "
        "Empty: a producer works 200 ns for each item that it makes, so that consumers wait for items; "
        "these 200 ns are part of the figures. Producers and consumers are coroutines, in Go goroutines, "
        "in Tokio tasks. In rows with threads each of them is a thread of the system's instead, or each "
        "producer is. Tokio's mpsc has one receiver, which eight consumers share behind Tokio's mutex, as "
        "its documentation advises. A channel without bound never makes a producer wait: it does less, "
        "and wins nothing.",
    .source_note =
        "Source: TooManyCooks publishes 39 ns an element for its channel, which has no bound, on 64 "
        "threads and on 1 (EPYC 7742, clang 21, tcmalloc; 10,000,000 numbers, as many consumers as "
        "producers). It is in none of Debian's packages.",
    .figures = {{.name = "ns_per_item", .title = "time per item", .unit = "ns"},
                {.name = "cpu_ns", .title = "CPU time", .unit = "ns"}},
    .variants = {{.name = "8 to 8",
                  .title = "8 to 8, balanced",
                  .headline = "an item, 8 to 8",
                  .only = on_two_threads},
                 {.name = "8 to 8, full", .title = "8 to 8, full", .only = on_two_threads},
                 {.name = "8 to 8, empty", .title = "8 to 8, empty", .only = on_two_threads},
                 {.name = "8 to 1", .title = "8 to 1, balanced", .only = on_two_threads},
                 {.name = "8 to 1, full", .title = "8 to 1, full", .only = on_two_threads},
                 {.name = "8 to 1, empty", .title = "8 to 1, empty", .only = on_two_threads},
                 {.name = "8 to 8, 1 thread", .title = "8 to 8, balanced, 1 thread", .only = on_one_thread},
                 {.name = "8 to 1, 1 thread", .title = "8 to 1, balanced, 1 thread", .only = on_one_thread}},
    .order = 28});

} // namespace
} // namespace lab::channel
