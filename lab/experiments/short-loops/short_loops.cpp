#include <lab/harness/registry.hpp>

#include <string>

namespace lab::short_loops {
namespace {

experiment described() {
    experiment e{
        .name = "short-loops",
        .title = "Short parallel loops",
        .about =
            "A loop over n iterations of calibrated work, again and again: back to back, or 200 us of sleep "
            "before each. The time is that of the median loop. The caller is one of the threads, so two "
            "workers halve the serial time at best. A wake-up costs about as much as the shorter loops "
            "last: whose threads stay awake between the loops is fast and takes the processors "
            "meanwhile, which the CPU time of a loop, with its pause, shows.",
        .figures = {{.name = "us", .title = "time of a loop", .unit = "us"},
                    {.name = "p90_us", .title = "P90", .unit = "us"},
                    {.name = "cpu_us", .title = "CPU time, pause included", .unit = "us"}},
        .variants = {},
        .order = 8};
    for (const char* const pauses : {"", ", pauses"})
        for (const char* const size :
             {"2 x 5 us", "20 x 0.5 us", "20 x 5 us", "200 x 0.5 us", "1000 x 1 us"}) {
            const std::string name = std::string(size) + pauses;
            e.variants.push_back(
                {.name = name,
                 .title = std::string(size) + (*pauses ? ", 200 us of sleep before each" : ", back to back"),
                 .headline = name == "200 x 0.5 us" ? "200 x 0.5 us" : ""});
        }
    return e;
}

const bool added = add(described());

} // namespace
} // namespace lab::short_loops
