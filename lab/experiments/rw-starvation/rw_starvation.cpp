#include <lab/harness/registry.hpp>

namespace lab::rw_starvation {
namespace {

const bool added = add(experiment{
    .name = "rw-starvation",
    .title = "One writer among eight readers",
    .about =
        "Eight readers take a read-write lock again as soon as they have left it; one writer does so too. "
        "How "
        "long does the writer wait at worst, and how much do both sides get done? A lock that prefers "
        "readers "
        "may keep the writer out for the whole run. The longest wait is a maximum: it varies from run to "
        "run. With \"waiting\" every thread gives its processor away "
        "inside its section.",
    .figures = {{.name = "longest_wait_us", .title = "writer's longest wait", .unit = "us"},
                {.name = "mean_wait_us", .title = "its mean wait", .unit = "us"},
                {.name = "writes_per_ms", .title = "writes per ms", .unit = "1", .lower_is_better = false},
                {.name = "reads_per_ms", .title = "reads per ms", .unit = "1", .lower_is_better = false}},
    .variants = {{.name = "seldom",
                  .title = "sections that wait; a write every 200 us",
                  .headline = "longest wait"},
                 {.name = "waiting", .title = "sections that wait"},
                 {.name = "empty", .title = "empty sections"}},
    .order = 32});

} // namespace
} // namespace lab::rw_starvation
