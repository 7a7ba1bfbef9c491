#include <lab/harness/registry.hpp>

namespace lab::timers {
namespace {

// A wait of Tokio's belongs to one task, so no other thread can end it. In Go, no handler reports that a wait
// was cancelled.
const std::vector<std::string> with_remote_cancel{"ekiden", "asio", "boost-asio"};
// Go's timers fire independently of a context that is run.
const std::vector<std::string> with_contexts{"ekiden", "asio", "boost-asio", "tokio"};

const bool added = add(experiment{
    .name = "timers",
    .title = "Timers",
    .about =
        "Timers with deadlines spread over 1 to 10 s are waited for and cancelled, in another order, by "
        "the thread that then runs the context, where all handlers report that they were cancelled; or "
        "another thread cancels 99 of 100 right behind the one that waits: then the figure is the wall "
        "time of starting, cancelling and running the handlers together. 1,000 timers again and again, "
        "and 1,000,000 at once. Fired: all have expired when the context begins to run. Never waited for: "
        "made, set, cancelled and ended. Accuracy: how late handlers begin where a timer expires every "
        "50 us, and the processor time per timer; one that is early fails the cell. Memory: what the "
        "process grows by per timer with a wait and its handler of 16 bytes. Tokio's handlers are tasks "
        "where timers fire and for the memory; where waits are begun and cancelled there are none. Go's "
        "handlers run where it fires them; its cancelled timers tell nobody.",
    .figures = {{.name = "schedule_ns", .title = "expires_after and async_wait", .unit = "ns"},
                {.name = "cancel_ns", .title = "cancel", .unit = "ns"},
                {.name = "run_ns", .title = "run the handler", .unit = "ns"},
                {.name = "remote_ns", .title = "wait, cancel elsewhere, run", .unit = "ns"},
                {.name = "fire_ns", .title = "fire and run", .unit = "ns"},
                {.name = "unused_ns", .title = "a timer without a wait", .unit = "ns"},
                {.name = "late_us", .title = "late, median", .unit = "us"},
                {.name = "late_p99_us", .title = "late, P99", .unit = "us"},
                {.name = "cpu_ns", .title = "CPU time", .unit = "ns"},
                {.name = "armed_bytes", .title = "bytes with a wait", .unit = "1"},
                {.name = "unarmed_bytes", .title = "bytes without", .unit = "1"},
                {.name = "object_bytes", .title = "sizeof", .unit = "1"}},
    .variants =
        {{.name = "schedule-few", .title = "1,000 timers: start a wait", .primary = "schedule_ns"},
         {.name = "schedule-many", .title = "1,000,000 timers: start a wait", .primary = "schedule_ns"},
         {.name = "cancel-few", .title = "1,000 timers: cancel", .primary = "cancel_ns"},
         {.name = "cancel-many",
          .title = "1,000,000 timers: cancel",
          .primary = "cancel_ns",
          .headline = "cancel a timer"},
         {.name = "remote-few",
          .title = "1,000 timers: 99% cancelled by another thread",
          .primary = "remote_ns",
          .only = with_remote_cancel},
         {.name = "remote-many",
          .title = "1,000,000 timers: 99% cancelled by another thread",
          .primary = "remote_ns",
          .only = with_remote_cancel},
         {.name = "fire-few", .title = "1,000 timers: fire", .primary = "fire_ns", .only = with_contexts},
         {.name = "fire-many",
          .title = "1,000,000 timers: fire",
          .primary = "fire_ns",
          .only = with_contexts},
         {.name = "unused", .title = "timers never waited for", .primary = "unused_ns"},
         {.name = "accuracy", .title = "accuracy, a timer every 50 us", .primary = "late_us"},
         {.name = "memory", .title = "memory, 1,000,000 timers", .primary = "armed_bytes"}},
    .order = 26});

} // namespace
} // namespace lab::timers
