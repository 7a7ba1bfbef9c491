/// NUMA nodes as the system's files list them, and a worker's place on one.
///
/// Used by: stepped_pool's step numa, and the ablation, which shows the step only where there are several.
#pragma once

#include <vector>

namespace lab::ablation {

/// The processors of each node. Empty where the system lists none.
[[nodiscard]] std::vector<std::vector<int>> numa_nodes();

/// Binds the calling thread, worker `index` of `workers`, to a node; neighbours share one.
void bind_to_node_of(unsigned index, unsigned workers);

} // namespace lab::ablation
