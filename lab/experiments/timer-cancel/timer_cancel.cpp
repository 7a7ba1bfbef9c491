#include <lab/harness/registry.hpp>

namespace lab::timer_cancel {
namespace {

const bool added = add(experiment{
    .name = "timer-cancel",
    .title = "Cancelled timers that say so",
    .about =
        "The share of handlers that report that they were cancelled, among those that begin after "
        "cancel() has returned: in the source's program, a timer of 1 ns which a posted handler cancels; "
        "and where 200 timers expire together and the first handler to begin cancels all, with one "
        "thread and with several.",
    .source_note = "Source: Networking TS articles: there the handler reports success after cancel().",
    .figures =
        {{.name = "cancelled", .title = "handlers that report it", .unit = "share", .lower_is_better = false},
         {.name = "handlers",
          .title = "handlers that begin later",
          .unit = "count",
          .lower_is_better = false}},
    .variants = {{.name = "article", .title = "the source's program", .headline = "says cancelled"},
                 {.name = "one-thread", .title = "queued handlers, one thread"},
                 {.name = "several-threads", .title = "queued handlers, several threads"}},
    .one_round = true,
    .order = 27});

} // namespace
} // namespace lab::timer_cancel
