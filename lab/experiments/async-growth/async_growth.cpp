#include <lab/harness/registry.hpp>

namespace lab::async_growth {
namespace {

const bool added = add(experiment{
    .name = "async-growth",
    .title = "Tasks that block",
    .about = "64 tasks, each of which only sleeps: 0.2 s in a quick run, 1 s in a full one. A thread per "
             "task ends them all in one such time; a pool must grow while its threads block, and should "
             "shrink afterwards. The threads left are counted 0.9 s after the last round; surplus threads "
             "of ekiden's pools may stay for 0.3 s here, and one thread more is their watch. The rounds "
             "follow each other without a pause; a system that cannot grow runs one.",
    .source_note = "Source: std::async article, one round of 64 tasks of 1 s. MSVC's pool starts with 4 "
                   "threads, has 26 at the end of the first round, and reaches 64 by the seventh.",
    .figures = {{.name = "first_ms", .title = "first round", .unit = "ms"},
                {.name = "last_ms", .title = "last round", .unit = "ms"},
                {.name = "first_threads", .title = "threads in the first round", .unit = "1"},
                {.name = "most_threads", .title = "most threads in a round", .unit = "1"},
                {.name = "threads_after", .title = "threads left", .unit = "1"}},
    .variants = {{.name = "64 tasks",
                  .title = "64 tasks of 0.2 s (quick) or 1 s (full)",
                  .headline = "64 that sleep"},
                 {.name = "10 s", .title = "64 tasks of 10 s"}},
    .source = {{"std-async", "64 tasks", "first_ms", 1'100, "std::async, gcc and clang"},
               {"ekiden", "64 tasks", "first_ms", 4'560, "std::async, MSVC: a pool that grows"}},
    .order = 20});

} // namespace
} // namespace lab::async_growth
