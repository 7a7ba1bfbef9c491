/// The tables that the terminal shows.
///
/// Used by: the command line.
#pragma once

#include <lab/harness/results.hpp>

#include <string>

namespace lab {

/// All variants of one experiment, a table each; ends with a newline. `colour` marks failures and the best
/// row with terminal escapes.
[[nodiscard]] std::string tables(const experiment_result& result, bool colour);

/// `value` with three digits that matter and a unit that keeps it readable: 0.234 s, 12.3 us, 62 %, 4.00.
[[nodiscard]] std::string readable(double value, const std::string& unit);

} // namespace lab
