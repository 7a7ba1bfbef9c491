#include <lab/harness/registry.hpp>

namespace lab::allocations {
namespace {

const bool added = add(experiment{
    .name = "allocations",
    .title = "Allocations per task",
    .about =
        "Calls of malloc and its kin, operator new and mmap per task in steady state, over all threads: "
        "waves "
        "of up to 1,000 tasks posted from outside, and tasks submitted with a result. Memory that a library "
        "recycles by itself does not count.",
    .figures = {{.name = "per_task", .title = "allocations per task", .unit = "1"}},
    .variants = {{.name = "post", .title = "posted, no result"},
                 {.name = "submit", .title = "submitted, with result", .headline = "task with result"}},
    .counts_allocations = true,
    .one_round = true,
    .order = 6});

} // namespace
} // namespace lab::allocations
