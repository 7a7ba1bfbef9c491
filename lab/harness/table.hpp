/// The tables that the terminal shows.
///
/// Used by: the command line.
#pragma once

#include <lab/harness/results.hpp>

#include <string>

namespace lab {

/// Returns one table for each variant of an experiment, with a newline at the end. If `colour` is true,
/// terminal escapes mark failures and the best row.
[[nodiscard]] std::string tables(const experiment_result& result, bool colour);

/// Returns `value` with three significant digits and a suitable unit, such as 0.234 s, 12.3 us, 62 %, 4.00.
[[nodiscard]] std::string readable(double value, const std::string& unit);

} // namespace lab
