/// How much of the machine others use at this moment.
///
/// Used by: a run, before it begins. The load average would not do: it remembers the minutes before, in which
/// this very tree was built.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace lab {

/// Seconds of processor time that `stat`, the text of /proc/stat, counts as used on `processors`, the time
/// that a hypervisor took away included. Nothing if it does not tell of each of them.
[[nodiscard]] std::optional<double> used_s(const std::string& stat, const std::vector<int>& processors,
                                           double ticks_per_s);

/// How many of `processors` others used between two such texts that are `elapsed_s` seconds apart: all use
/// but `own_s`, the processor time of this process and its children. Not below 0.
[[nodiscard]] std::optional<double> used_by_others(const std::string& before, const std::string& after,
                                                   const std::vector<int>& processors, double ticks_per_s,
                                                   double elapsed_s, double own_s);

/// The same of the next `seconds`, for the processors that this process may use. Nothing if the system does
/// not tell, or after an interruption.
[[nodiscard]] std::optional<double> watch_others(double seconds);

/// Whether that leaves less than 0.9 of the `wanted` processors among `available` ones.
[[nodiscard]] bool disturbed(double used_by_others, unsigned available, unsigned wanted);

} // namespace lab
