/// Which processors this process may really use, and how they are grouped.
///
/// Part: sys. Used by: pool (default size, placement), lab (the machine's description).
#pragma once

#include <ekiden/sys/config.hpp>

#include <string_view>
#include <vector>

namespace ekiden::inline EKIDEN_ABI::sys {

/// The processors of the calling thread's affinity mask, ascending. At least one.
[[nodiscard]] std::vector<int> usable_cpus();

/// How many threads can run at once: usable_cpus(), cut down to the CPU quota of the process's control groups
/// (v1 and v2, rounded up). At least 1.
[[nodiscard]] unsigned usable_concurrency();

/// The usable processors by NUMA node, in the order of the nodes; a node without usable processors is left
/// out. One group with all of them where the system describes no nodes.
[[nodiscard]] std::vector<std::vector<int>> numa_nodes();

/// Reads a list in the system's notation, for example "0-3,8,10-11". What cannot be read ends the list.
[[nodiscard]] std::vector<int> parse_cpu_list(std::string_view text);

} // namespace ekiden::inline EKIDEN_ABI::sys
