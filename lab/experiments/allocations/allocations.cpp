#include <lab/harness/registry.hpp>

namespace lab::allocations {
namespace {

const std::vector<std::string> with_contexts{"ekiden", "asio", "boost-asio"};

const bool added = add(experiment{
    .name = "allocations",
    .title = "Allocations per task",
    .about = "Calls of malloc and its kin, operator new and mmap per task in steady state, over all threads: "
             "waves of up to "
             "1,000 tasks posted from outside, and tasks submitted with a result. With contexts: handlers "
             "posted from outside, "
             "each when the one before has run (so a strand is idle each time), or 1,000 at once; waits of a "
             "timer; futures of "
             "handlers; hops of a coroutine between two strands, 1,000 for each coroutine. \"Inside\" is "
             "what a handler costs that another handler posts, or a wait that a "
             "timer's own handler "
             "begins. Memory that a library recycles by itself does not count.",
    .figures = {{.name = "per_task", .title = "allocations per task", .unit = "1"},
                {.name = "at_once", .title = "1,000 at once", .unit = "1"},
                {.name = "inside", .title = "inside", .unit = "1"}},
    .variants = {{.name = "post", .title = "posted, no result"},
                 {.name = "submit", .title = "submitted, with result", .headline = "task with result"},
                 {.name = "context", .title = "posted to a context", .only = with_contexts},
                 {.name = "strand", .title = "posted to a strand", .only = with_contexts},
                 {.name = "timer", .title = "wait of a timer", .only = with_contexts},
                 {.name = "future", .title = "posted with use_future", .only = with_contexts},
                 {.name = "hop", .title = "hop of a coroutine", .only = with_contexts}},
    .counts_allocations = true,
    .one_round = true,
    .order = 6});

} // namespace
} // namespace lab::allocations
