#include <lab/harness/registry.hpp>

namespace lab::fork_join {
namespace {

const bool added = add(experiment{
    .name = "fork-join",
    .title = "Fork-join without a cut-off",
    .about =
        "Recursions that call themselves twice and may run both calls in parallel, down to the "
        "smallest: what does "
        "a fork cost when there is nothing to gain? fib(35) makes 15 million of them. The serial "
        "function makes "
        "plain calls, which the compiler inlines as far as it likes. The tree is unbalanced: of two "
        "children one has an eighth of the other's height. Queens: all ways to place 11 queens. Skynet: a "
        "tree of 10 million leaves whose nodes have ten children, forked by a loop where there is one. "
        "Matrices: the product by quarters down to 32 x 32. Nested: a parallel loop of 64 whose body is a "
        "parallel loop of 200 calls of 0.5 us. Busy: beside another process that keeps one of the "
        "processors busy all the time, as many calls as take 60 ms alone, for the system shares a "
        "processor by slices of milliseconds; compared is the time by which they take longer than just "
        "before, alone.",
    .figures = {{.name = "ms", .title = "time", .unit = "ms"},
                {.name = "cpu_ms", .title = "CPU time", .unit = "ms"},
                {.name = "slowdown", .title = "time, busy / alone", .unit = "1"}},
    .variants = {{.name = "fib, 1 thread", .title = "fib(35), 1 thread"},
                 {.name = "fib", .title = "fib(35), all threads"},
                 {.name = "tree", .title = "unbalanced tree"},
                 {.name = "queens", .title = "11 queens", .headline = "11 queens"},
                 {.name = "skynet, 1 thread", .title = "skynet, 1 thread"},
                 {.name = "skynet", .title = "skynet, all threads"},
                 {.name = "matmul, 1 thread", .title = "matrices, 1 thread"},
                 {.name = "matmul", .title = "matrices, all threads"},
                 {.name = "nested, 1 thread", .title = "nested loops, 1 thread"},
                 {.name = "nested", .title = "nested loops, all threads"},
                 {.name = "queens, busy", .title = "11 queens, one processor busy", .primary = "slowdown"},
                 {.name = "matmul, busy", .title = "matrices, one processor busy", .primary = "slowdown"},
                 {.name = "nested, busy",
                  .title = "nested loops, one processor busy",
                  .primary = "slowdown"}},
    .order = 6});

} // namespace
} // namespace lab::fork_join
