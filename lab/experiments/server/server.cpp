#include <lab/harness/registry.hpp>

namespace lab::server {
namespace {

const bool added = add(
    experiment{.name = "server",
               .title = "A server that keeps the order of each key",
               .about = "The server of examples/ordered_server, a process of its own: requests come over 100 "
                        "connections, 16 of each at a "
                        "time, for 1,000 keys drawn uniformly. Those of a key are run in their order and "
                        "numbered, those of different keys "
                        "in parallel, and each connection gets its replies in its order. Four ways to run "
                        "them, all else being the same: "
                        "ekiden's lanes; an Asio strand for each key; one mutex for all keys, with an Asio "
                        "strand for each connection; and "
                        "the network's thread alone. All figures are the client's, which checks every reply "
                        "and shares the processors with "
                        "the server. 20 us: a request draws so many random numbers (source 1's accumulator). "
                        "0: it adds a number; all models "
                        "run such a request on the network's thread if nothing of its key is under way. "
                        "Handed over: they do not. Checked: "
                        "half of the connections are killed at random; a full run makes 10,000,000 requests.",
               .figures = {{.name = "us_per_request", .title = "time per request", .unit = "us"},
                           {.name = "p50_us", .title = "P50", .unit = "us"},
                           {.name = "p99_us", .title = "P99", .unit = "us"},
                           {.name = "server_cpu_us", .title = "CPU time of the server", .unit = "us"},
                           {.name = "violations", .title = "wrong replies", .unit = "count"}},
               .variants = {{.name = "20 us", .title = "20 us of work", .headline = "a request, 20 us"},
                            {.name = "0", .title = "no work"},
                            {.name = "0, handed over",
                             .title = "no work, always handed over",
                             .only = {"ekiden", "asio", "global-mutex"}},
                            {.name = "redis-benchmark", .title = "no work, driven by redis-benchmark"},
                            {.name = "checked",
                             .title = "connections killed at random",
                             .primary = "violations",
                             .only = {"ekiden"}}},
               .order = 29});

} // namespace
} // namespace lab::server
