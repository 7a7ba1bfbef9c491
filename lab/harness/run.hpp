/// One run of the lab: measures, reports progress, prints tables, and writes the results.
///
/// Used by: the command line.
#pragma once

#include <lab/harness/driver.hpp>

#include <string>
#include <vector>

namespace lab {

/// Returns the exit status of the process. 0: success. 1: a cell of ekiden failed, or the results could not
/// be written to `out`. 130: SIGINT or SIGTERM interrupted the run. The results measured before are written
/// in every case. Call it only once in a process, because it blocks the signals permanently.
int run(const std::vector<experiment>& some, const plan& how, const std::string& out);

} // namespace lab
