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
        "tree of 10 million leaves whose nodes have ten children, forked by a loop where there is one.",
    .figures = {{.name = "ms", .title = "time", .unit = "ms"},
                {.name = "cpu_ms", .title = "CPU time", .unit = "ms"}},
    .variants = {{.name = "fib, 1 thread", .title = "fib(35), 1 thread"},
                 {.name = "fib", .title = "fib(35), all threads"},
                 {.name = "tree", .title = "unbalanced tree"},
                 {.name = "queens", .title = "11 queens", .headline = "11 queens"},
                 {.name = "skynet, 1 thread", .title = "skynet, 1 thread"},
                 {.name = "skynet", .title = "skynet, all threads"}},
    .order = 6});

} // namespace
} // namespace lab::fork_join
