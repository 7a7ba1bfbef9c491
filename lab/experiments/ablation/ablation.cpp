#include <lab/harness/registry.hpp>

namespace lab::ablation {
namespace {

const bool added = add(experiment{
    .name = "ablation",
    .title = "What each step of tuning brings",
    .about =
        "The source's way from a shared queue to a tuned pool, in a small pool whose steps can be switched "
        "on "
        "one by one: first each alone on top of plain work stealing, then one after the other, and ekiden at "
        "the end. All rows make a future per task, as the source does, but 'no future' and ekiden's post. "
        "'Recursive' grows a tree of tasks from inside; the source's local queue is private, so with it one "
        "worker runs the whole tree.",
    .source_note =
        "Source: thread-pool tuning article, i7-12650H, Windows 11, MSVC /O2; 1,000,000 tasks, per task. "
        "NUMA placement: its figures are from a machine with two sockets.",
    .figures = {{.name = "ns_per_task", .title = "time per task", .unit = "ns"},
                {.name = "cpu_ns_per_task", .title = "CPU time", .unit = "ns"}},
    .variants = {{.name = "submit", .title = "submitted by one thread", .headline = "all steps"},
                 {.name = "recursive", .title = "spawned recursively"}},
    .source = {{"shared-queue-source", "submit", "ns_per_task", 2'341, "shared queue"},
               {"stealing", "submit", "ns_per_task", 891, "work stealing"},
               {"alone-padding", "submit", "ns_per_task", 623, "+ padding"},
               {"sum-padding", "submit", "ns_per_task", 623, "+ padding"},
               {"sum-batch", "submit", "ns_per_task", 412, "+ batches of 16"},
               {"sum-local", "submit", "ns_per_task", 312, "+ local queue"},
               {"sum-numa", "submit", "ns_per_task", 312, "NUMA placement, from 523"},
               {"sum-node-pool", "submit", "ns_per_task", 234, "+ object pool"},
               {"stealing", "recursive", "ns_per_task", 1'234, "global queue only"},
               {"alone-local", "recursive", "ns_per_task", 523, "local queue"}},
    .order = 5});

} // namespace
} // namespace lab::ablation
