#include <lab/harness/registry.hpp>

namespace lab::algorithms {
namespace {

const bool added = add(
    experiment{.name = "algorithms",
               .title = "Scans, searches, stable sorting and values for each thread",
               .about = "Scan: the inclusive prefix sums of 20 million integers, limited by memory on some "
                        "machines. Functions: the compositions of 5 million affine functions, which take "
                        "longer than the memory and do not commute. Find: the first match among 20 million "
                        "numbers, at a tenth or at nine tenths of them. Threads that search the half behind "
                        "the match work in vain, so a search from left to right should win. Stable sort: 4 "
                        "million records by a key that four of them share. Local sums: 20 million "
                        "additions, each to the value of its thread. Limited: 500,000 tasks of about 0.1 "
                        "us in a group that runs at most two at a time.",
               .figures = {{.name = "ms", .title = "time", .unit = "ms"},
                           {.name = "cpu_ms", .title = "CPU time", .unit = "ms"}},
               .variants = {{.name = "scan", .title = "scan"},
                            {.name = "scan-functions", .title = "functions", .headline = "a scan"},
                            {.name = "find-early", .title = "find, early"},
                            {.name = "find-late", .title = "find, late"},
                            {.name = "stable-sort", .title = "stable sort", .headline = "a stable sort"},
                            {.name = "local-sums", .title = "local sums"},
                            {.name = "limited", .title = "limited"}},
               .order = 7});

} // namespace
} // namespace lab::algorithms
