/// Reads the CPU quota of control groups from files.
///
/// Part: sys, on Linux. Used by: sys. Private. Tests call the function with files of their own.
#pragma once

#include <ekiden/sys/config.hpp>

#include <optional>
#include <string>

namespace ekiden::inline EKIDEN_ABI::sys {

/// Returns the quota that cpu_quota() describes. `groups_file` lists the groups of the process, and `root` is
/// the folder of all groups.
[[nodiscard]] std::optional<double> control_group_quota(const std::string& groups_file,
                                                        const std::string& root);

} // namespace ekiden::inline EKIDEN_ABI::sys
