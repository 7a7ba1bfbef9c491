/// One run of the lab: measures, tells how it goes on, shows tables, and keeps the results.
///
/// Used by: the command line.
#pragma once

#include <lab/harness/driver.hpp>

#include <string>
#include <vector>

namespace lab {

/// The process's exit status: 0 if all went well, 1 if a cell of ekiden failed or the results at `out` could
/// not be written, 130 if SIGINT or SIGTERM ended it early; what was measured before is in the results all
/// the same. Once a process: it catches the signals for good.
int run(const std::vector<experiment>& some, const plan& how, const std::string& out);

} // namespace lab
