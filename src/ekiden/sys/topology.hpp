/// The processors that the process may use, and their NUMA nodes.
///
/// Part: sys. Used by: pool (default size, placement), lab (the machine's description).
#pragma once

#include <ekiden/sys/config.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ekiden::inline EKIDEN_ABI::sys {

/// Returns the processors that the process may use, in ascending order. At least one. On Linux, they are the
/// ones in the main thread's affinity mask, even if another thread calls, because a worker may be bound to
/// one processor.
[[nodiscard]] std::vector<int> usable_cpus();

/// Returns how many threads can run at once: the number of usable_cpus(), limited by the CPU quota of the
/// process's control groups (v1 and v2, rounded up). At least 1.
[[nodiscard]] unsigned usable_concurrency();

/// Returns the CPU quota of the process's control groups, in processors: the smallest quota of its groups and
/// of the groups that contain them. Empty if no group is limited or readable. The parameters exist for tests.
[[nodiscard]] std::optional<double> cpu_quota(const std::string& groups_file = "/proc/self/cgroup",
                                              const std::string& root = "/sys/fs/cgroup");

/// Returns the usable processors by NUMA node, in the order of the nodes. Nodes without usable processors are
/// omitted. If the system describes no nodes, returns one group with all processors.
[[nodiscard]] std::vector<std::vector<int>> numa_nodes();

/// Reads a list in the system's notation, for example "0-3,8,10-11". Stops at the first part that is not
/// valid, and at numbers of 2^16 or more.
[[nodiscard]] std::vector<int> parse_cpu_list(std::string_view text);

} // namespace ekiden::inline EKIDEN_ABI::sys
