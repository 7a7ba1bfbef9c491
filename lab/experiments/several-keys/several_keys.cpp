#include <lab/harness/registry.hpp>

namespace lab::several_keys {
namespace {

const bool added = add(experiment{
    .name = "several-keys",
    .title = "Requests with several keys",
    .about =
        "A task of the system posts 200,000 requests (a full run: 1,000,000) about 10,000 accounts, which "
        "are drawn "
        "beforehand after Zipf's law (exponent 1.0). A request with two keys moves an amount between two "
        "accounts. The amount depends on the balance, so the balances at the end show whether the requests "
        "of "
        "each account ran in the order of their posts. The same with one account, and with 1 us of work in "
        "each request. "
        "Readers: requests of 10 us that only read one account, with one worker and with all workers.",
    .figures = {{.name = "ns_per_request", .title = "time per request", .unit = "ns"},
                {.name = "cpu_ns", .title = "CPU time", .unit = "ns"},
                {.name = "speedup", .title = "speed-up over one worker", .unit = "1"}},
    .variants = {{.name = "two keys", .title = "two keys", .headline = "with two keys"},
                 {.name = "one key", .title = "one key"},
                 {.name = "two keys, 1 us", .title = "two keys, 1 us of work"},
                 {.name = "one key, 1 us", .title = "one key, 1 us of work"},
                 {.name = "readers", .title = "readers of one key", .primary = "speedup"}},
    .order = 25});

} // namespace
} // namespace lab::several_keys
