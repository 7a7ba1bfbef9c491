#include <lab/harness/registry.hpp>

namespace lab::coroutine_hop {
namespace {

const bool added = add(experiment{
    .name = "coroutine-hop",
    .title = "Coroutines that hop between strands",
    .about =
        "One coroutine, or 64, hop to and fro between two strands of one context, 640,000 times in all (a "
        "full run: 6,400,000), and count each visit in a variable that only the strand protects. One or "
        "two threads run the context. Tokio and Go have no strands, so they do something easier, and win "
        "nothing: a task of Tokio's yields, and so goes to the end of its worker's queue; two goroutines, "
        "or 32 pairs of them, hand a number to each other over channels without room. Immediate: one "
        "coroutine awaits 5,000,000 times (a full run: 50,000,000) a child that ends without suspending; "
        "the figure is that of the child's making, start, end and result. A bare coroutine type has "
        "nothing but that: no executor, no stop, no exceptions, and it needs the compiler's tail calls.",
    .figures = {{.name = "ns_per_hop", .title = "time per hop", .unit = "ns"},
                {.name = "ns_per_await", .title = "time per await", .unit = "ns"},
                {.name = "cpu_ns", .title = "CPU time", .unit = "ns"}},
    .variants = {{.name = "1 coroutine, 1 thread",
                  .title = "1 coroutine, 1 thread",
                  .headline = "coroutine's hop",
                  .only = {"ekiden", "asio", "boost-asio", "tokio", "go"}},
                 {.name = "64 coroutines, 1 thread",
                  .title = "64 coroutines, 1 thread",
                  .only = {"ekiden", "asio", "boost-asio", "tokio", "go"}},
                 {.name = "64 coroutines, 2 threads",
                  .title = "64 coroutines, 2 threads",
                  .only = {"ekiden", "asio", "boost-asio", "tokio", "go"}},
                 {.name = "immediate",
                  .title = "a child that ends at once",
                  .primary = "ns_per_await",
                  .only = {"ekiden", "asio", "boost-asio", "bare-coroutine"}}},
    .order = 27});

} // namespace
} // namespace lab::coroutine_hop
