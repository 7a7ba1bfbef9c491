#include <lab/experiments/ablation/nodes_placement.hpp>
#include <lab/harness/affinity.hpp>

#include <fstream>
#include <sstream>
#include <string>

namespace lab::ablation {

std::vector<std::vector<int>> numa_nodes() {
    std::vector<std::vector<int>> nodes;
    for (int node = 0;; ++node) {
        std::ifstream file("/sys/devices/system/node/node" + std::to_string(node) + "/cpulist");
        std::string list;
        if (!std::getline(file, list)) return nodes;
        std::vector<int> cpus;
        std::istringstream ranges(list);
        for (std::string range; std::getline(ranges, range, ',');) { // "0-3" or "8"
            const auto dash = range.find('-');
            const int first = std::stoi(range);
            const int last = dash == std::string::npos ? first : std::stoi(range.substr(dash + 1));
            for (int cpu = first; cpu <= last; ++cpu) cpus.push_back(cpu);
        }
        if (!cpus.empty()) nodes.push_back(cpus);
    }
}

void bind_to_node_of(unsigned index, unsigned workers) {
    const auto nodes = numa_nodes();
    if (nodes.empty()) return;
    bind_this_thread_to_all(nodes[index * nodes.size() / workers]);
}

} // namespace lab::ablation
