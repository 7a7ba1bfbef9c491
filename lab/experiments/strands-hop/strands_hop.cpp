#include <lab/harness/registry.hpp>

namespace lab::strands_hop {
namespace {

const bool added = add(experiment{
    .name = "strands-hop",
    .title = "Hops between 1,000 strands",
    .about =
        "1,000 strands on one context, and on each a chain of handlers: each handler counts its visit in a "
        "variable "
        "that only the strand protects, and posts the next handler to another strand (number 7 i + 13 modulo "
        "1,000). One or two threads run the context until all chains have ended after 1,000 hops each (a "
        "full "
        "run: 5,000).",
    .figures = {{.name = "ns_per_hop", .title = "time per hop", .unit = "ns"},
                {.name = "cpu_ns", .title = "CPU time", .unit = "ns"}},
    .variants = {{.name = "1 thread", .title = "1 thread"},
                 {.name = "2 threads", .title = "2 threads", .headline = "a strand's hop"}},
    .order = 23});

} // namespace
} // namespace lab::strands_hop
