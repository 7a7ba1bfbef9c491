/// Which processors this process may really use, and how they are grouped.
///
/// Part: sys. Used by: pool (default size, placement), lab (the machine's description).
#pragma once

#include <ekiden/sys/config.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ekiden::inline EKIDEN_ABI::sys {

/// Returns the processors that the process may use, ascending; at least one. On Linux: those of the main
/// thread's affinity mask, whichever thread calls, since a worker may be bound to one of them.
[[nodiscard]] std::vector<int> usable_cpus();

/// How many threads can run at once: usable_cpus(), cut down to the CPU quota of the process's control groups
/// (v1 and v2, rounded up). At least 1.
[[nodiscard]] unsigned usable_concurrency();

/// The CPU quota of the process's control groups in processors: the tightest of its groups and of those that
/// contain them; nothing if none is limited or readable. The paths are parameters for tests.
[[nodiscard]] std::optional<double> cpu_quota(const std::string& groups_file = "/proc/self/cgroup",
                                              const std::string& root = "/sys/fs/cgroup");

/// The usable processors by NUMA node, in the order of the nodes; a node without usable processors is left
/// out. One group with all of them where the system describes no nodes.
[[nodiscard]] std::vector<std::vector<int>> numa_nodes();

/// Reads a list in the system's notation, for example "0-3,8,10-11". What cannot be read
/// ends the list, as does a number of 2^16 or more.
[[nodiscard]] std::vector<int> parse_cpu_list(std::string_view text);

} // namespace ekiden::inline EKIDEN_ABI::sys
