#include <lab/harness/registry.hpp>

#include <string>

namespace lab::bursts {
namespace {

experiment described() {
    experiment e{.name = "bursts",
                 .title = "Bursts of short tasks",
                 .about = "A thread outside of the pool posts a few blocks of 5 us, does one itself, and "
                          "waits for the others on a "
                          "condition variable, as clients of pools do; again and again: at once, or after 50 "
                          "or 200 us in which it "
                          "works alone. The time is that of the median burst. A worker that still looks for "
                          "work takes a block at "
                          "once; one that sleeps costs the caller a wake-up, about as much as a block. The "
                          "CPU time is that "
                          "of a burst with the gap before it, less the caller's own work in the gap.",
                 .figures = {{.name = "us", .title = "time of a burst", .unit = "us"},
                             {.name = "p90_us", .title = "P90", .unit = "us"},
                             {.name = "mean_us", .title = "mean", .unit = "us"},
                             {.name = "cpu_us", .title = "CPU time, gap included", .unit = "us"}},
                 .variants = {},
                 .order = 9};
    for (const char* const blocks : {"2", "4", "8"})
        for (const char* const between : {"0", "50", "200"}) {
            const std::string name = std::string(blocks) + " blocks, " + between + " us";
            e.variants.push_back({.name = name,
                                  .title = std::string(blocks) + " blocks, " + between + " us between",
                                  .headline = name == "4 blocks, 50 us" ? "bursts of 4" : ""});
        }
    return e;
}

const bool added = add(described());

} // namespace
} // namespace lab::bursts
