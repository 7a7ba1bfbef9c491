#include <lab/harness/registry.hpp>

namespace lab::parallel_for {
namespace {

const bool added =
    add(experiment{.name = "parallel-for",
                   .title = "Parallel loops, sums and sorting",
                   .about = "Light: 20 million square roots in place, a few nanoseconds each, "
                            "limited by memory on some machines. Skewed: "
                            "iterations whose cost grows with their number, so that equal "
                            "parts are no fair ones. Reduce: the sum of "
                            "20 million quotients. Sort: 4 million random numbers. Nobody is "
                            "told how large the pieces should be.",
                   .figures = {{.name = "ms", .title = "time", .unit = "ms"},
                               {.name = "cpu_ms", .title = "CPU time", .unit = "ms"}},
                   .variants = {{.name = "light", .title = "light"},
                                {.name = "skewed", .title = "skewed", .headline = "an uneven loop"},
                                {.name = "reduce", .title = "reduce"},
                                {.name = "sort", .title = "sort"}},
                   .order = 7});

} // namespace
} // namespace lab::parallel_for
