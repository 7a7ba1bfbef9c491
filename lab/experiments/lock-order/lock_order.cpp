#include <lab/harness/registry.hpp>

namespace lab::lock_order {
namespace {

const bool added = add(experiment{
    .name = "lock-order",
    .title = "Is a lock taken in the order of asking?",
    .about =
        "5,000 threads are started one after the other; each notes the time and asks for a lock that the "
        "first of "
        "them holds. An inversion is a thread that gets in after one that asked later. A thread may be "
        "preempted "
        "between its note and its request, which no lock can mend: judge a lock that promises order by that. "
        "fifo_mutex's own test asks for the number that each call takes in the very step that queues it.",
    .source_note = {},
    .figures = {{.name = "inversions", .title = "inversions", .unit = "1"},
                {.name = "largest_inversion_ns", .title = "largest", .unit = "ns"},
                {.name = "release_ms", .title = "time beside the hold", .unit = "ms"}},
    .variants = {{.name = "5,000 threads", .title = "5,000 threads", .headline = "overtaken"}},
    .order = 35});

} // namespace
} // namespace lab::lock_order
