#include <lab/harness/registry.hpp>

namespace lab::senders {
namespace {

const bool added = add(experiment{
    .name = "senders",
    .title = "Senders (std::execution)",
    .about =
        "The senders of stdexec on three schedulers: a pool of ekiden, and the static_thread_pool and the "
        "parallel scheduler of stdexec. Round trips: schedule, then and sync_wait, where the thread "
        "waits for each task. Scope: a million tasks that are spawned in a counting_scope, which "
        "allocates memory for each of them. Bulk: a loop of a million calls that add 1 to an element. "
        "Bulk, roots: a loop of a million square roots. Without stdexec (cmake --preset release "
        "-DEKIDEN_STDEXEC=FOLDER), the experiment has no rows.",
    .figures = {{.name = "ns_per_task", .title = "time per task", .unit = "ns"},
                {.name = "cpu_ns", .title = "CPU time", .unit = "ns"}},
    .variants = {{.name = "round trips", .title = "schedule, then, sync_wait"},
                 {.name = "scope", .title = "10^6 tasks in a scope", .headline = "tasks in a scope"},
                 {.name = "bulk", .title = "bulk of 10^6 additions"},
                 {.name = "bulk, roots", .title = "bulk of 10^6 square roots"}},
    .order = 10});

} // namespace
} // namespace lab::senders
