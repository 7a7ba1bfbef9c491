/// NUMA nodes according to the system's files, and the placement of a worker on a node.
///
/// Used by: the step numa of stepped_pool; the ablation, which shows this step only if there are several
/// nodes.
#pragma once

#include <vector>

namespace lab::ablation {

/// Returns the processors of each node. Empty if the system lists no nodes.
[[nodiscard]] std::vector<std::vector<int>> numa_nodes();

/// Binds the calling thread, worker `index` of `workers`, to a node. Neighboring workers share a node.
void bind_to_node_of(unsigned index, unsigned workers);

} // namespace lab::ablation
