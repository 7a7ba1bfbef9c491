/// The processors that the process may use, and their NUMA nodes.
///
/// Part: sys. Used by: lanes, loop, pool, lab.
#pragma once

#include <ekiden/sys/config.hpp>

#include <optional>
#include <string_view>
#include <vector>

namespace ekiden::inline EKIDEN_ABI::sys {

/// Returns the numbers of the processors that the process may use, in ascending order. The list is never
/// empty. On Linux, the result contains the processors in the affinity mask of the main thread. The function
/// does not use the mask of the calling thread, because the caller may be a worker that is bound to one
/// processor.
[[nodiscard]] std::vector<int> usable_cpus();

/// Returns how many threads can run at once. Each call reads the system again. The result is the number of
/// processors in usable_cpus(). If the CPU quota of the process's control groups is lower, the result is this
/// quota, rounded up. The result is at least 1. Supports control groups v1 and v2.
[[nodiscard]] unsigned usable_concurrency();

/// Returns the CPU quota of the process's control groups, as a number of processors. The result is the
/// smallest quota of the process's groups and of all groups that contain these groups. The result is empty if
/// no group has a quota that the process can read.
[[nodiscard]] std::optional<double> cpu_quota();

/// Returns one list of usable processors for each NUMA node, in the order of the nodes. Nodes without usable
/// processors are omitted. If the system describes no nodes, the result is one list with all usable
/// processors.
[[nodiscard]] std::vector<std::vector<int>> numa_nodes();

/// Reads a list in the system's notation, for example "0-3,8,10-11". Stops at the first invalid part, and at
/// the first number that is 2^16 or larger.
[[nodiscard]] std::vector<int> parse_cpu_list(std::string_view text);

} // namespace ekiden::inline EKIDEN_ABI::sys
