#include <lab/harness/registry.hpp>

namespace lab::bounded_buffer {
namespace {

const std::vector<std::string> beside_busy{"ekiden", "condition-buffer"};

const bool added = add(experiment{
    .name = "bounded-buffer",
    .title = "Bounded buffers",
    .about =
        "Four producers and four consumers pass numbers through a buffer. Ours lets the "
        "thread that makes room, or "
        "brings an item, do the waiter's push or pop; the waiter wakes up when all is done. With "
        "watermarks producers that found the buffer full at 256 items wait until no more than 64 are left. "
        "Beside busy processes, one on each processor, one producer and one consumer pass them.",
    .figures = {{.name = "ns_per_item", .title = "time per item", .unit = "ns"},
                {.name = "cpu_ns_per_item", .title = "CPU time", .unit = "ns"}},
    .variants = {{.name = "1", .title = "capacity 1"},
                 {.name = "16", .title = "capacity 16", .headline = "an item, room 16"},
                 {.name = "1024", .title = "capacity 1,024"},
                 {.name = "watermarks", .title = "watermarks 64 and 256"},
                 {.name = "1, busy", .title = "capacity 1, beside busy processes", .only = beside_busy},
                 {.name = "4, busy", .title = "capacity 4, beside busy processes", .only = beside_busy},
                 {.name = "64, busy", .title = "capacity 64, beside busy processes", .only = beside_busy}},
    .order = 34});

} // namespace
} // namespace lab::bounded_buffer
