/// How much of the machine other programs use at the moment.
///
/// Used by: a run, before it begins. The load average is not suitable, because it covers the last minutes, in
/// which the lab itself may have been built.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace lab {

/// Returns the seconds of processor time used on `processors` according to `stat`, the text of /proc/stat.
/// This includes the time that a hypervisor has taken. Empty if the text does not have all of them.
[[nodiscard]] std::optional<double> used_s(const std::string& stat, const std::vector<int>& processors,
                                           double ticks_per_s);

/// Returns how many of `processors` other programs used between two such texts, which are `elapsed_s` seconds
/// apart. Subtracts `own_s`, the processor time of this process and its children. At least 0.
[[nodiscard]] std::optional<double> used_by_others(const std::string& before, const std::string& after,
                                                   const std::vector<int>& processors, double ticks_per_s,
                                                   double elapsed_s, double own_s);

/// Measures this for the next `seconds`, for the processors that this process may use. Empty if the system
/// does not have the data, or after an interruption.
[[nodiscard]] std::optional<double> watch_others(double seconds);

/// Returns whether that leaves less than 0.9 of the `wanted` processors among the `available` ones.
[[nodiscard]] bool disturbed(double used_by_others, unsigned available, unsigned wanted);

} // namespace lab
