#include <lab/harness/registry.hpp>

namespace lab::task_graph {
namespace {

const std::vector<std::string> all{"ekiden", "onetbb", "onetbb-lightweight"};
const std::vector<std::string> parallel{"ekiden", "onetbb"};

const bool added = add(experiment{
    .name = "task-graph",
    .title = "Graphs of tasks that run many times",
    .about =
        "A graph is built once and runs many times, one run after the other. Wavefront: 64 x 64 nodes, each "
        "after its upper and its left neighbor. Chain: 4,000 nodes, one after the other. Fan: a node, 1,000 "
        "nodes after it, and a node after these. Small: a node, three nodes after it, and a node after "
        "these. "
        "A node takes 1 us, except where the variant says that it is empty. The policy `lightweight` of "
        "oneTBB runs a node in the thread that has ended the node before, without a task. It runs no nodes "
        "in "
        "parallel in these graphs, so it is measured with empty nodes only.",
    .figures = {{.name = "ns_per_node", .title = "time per node", .unit = "ns"},
                {.name = "cpu_ns_per_node", .title = "CPU time per node", .unit = "ns"}},
    .variants = {{.name = "wavefront", .title = "wavefront", .headline = "a wavefront", .only = parallel},
                 {.name = "wavefront, empty", .title = "wavefront, empty nodes", .only = all},
                 {.name = "chain, empty", .title = "chain, empty nodes", .only = all},
                 {.name = "fan", .title = "fan", .only = parallel},
                 {.name = "fan, empty", .title = "fan, empty nodes", .only = all},
                 {.name = "small", .title = "five nodes", .only = parallel},
                 {.name = "small, empty", .title = "five empty nodes", .only = all}},
    .order = 8});

} // namespace
} // namespace lab::task_graph
