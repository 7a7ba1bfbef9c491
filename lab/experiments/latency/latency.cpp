#include <lab/harness/registry.hpp>

namespace lab::latency {
namespace {

const bool added = add(experiment{
    .name = "latency",
    .title = "Latency from submit to result",
    .about =
        "One thread submits a task and waits for its result, again and again. 'Awake': the next one follows "
        "at once. 'After 10 ms idle': everybody has gone to sleep before each one. Idle CPU is what the "
        "process uses in 2 s in which nobody asks for anything. Where waiting runs the task on the waiting "
        "thread itself, no hand-over between threads is measured; the note says so. Two flags: what "
        "a hand-over to another processor and back takes at least.",
    .source_note = "Source: thread-pool tuning article, i7-12650H, Windows 11, MSVC /O2 (awake).",
    .figures = {{.name = "p50", .title = "P50", .unit = "ns"},
                {.name = "p99", .title = "P99", .unit = "ns"},
                {.name = "p999", .title = "P99.9", .unit = "ns"},
                {.name = "tail", .title = "P99 / P50", .unit = "1"},
                {.name = "mean", .title = "mean", .unit = "ns"},
                {.name = "idle_cpu_ms", .title = "idle CPU in 2 s", .unit = "ms"}},
    .variants = {{.name = "awake", .title = "both awake", .headline = "submit to result"},
                 {.name = "idle", .title = "after 10 ms idle"}},
    .source = {{"shared-queue-source", "awake", "mean", 15'234, "shared queue"},
               {"shared-queue-source", "awake", "p50", 12'100, "shared queue"},
               {"shared-queue-source", "awake", "p99", 89'000, "shared queue"},
               {"shared-queue-source", "awake", "p999", 234'000, "shared queue"},
               {"ekiden", "awake", "mean", 3'123, "tuned"},
               {"ekiden", "awake", "p50", 2'100, "tuned"},
               {"ekiden", "awake", "p99", 18'000, "tuned"},
               {"ekiden", "awake", "p999", 56'000, "tuned"}},
    .order = 2});

} // namespace
} // namespace lab::latency
