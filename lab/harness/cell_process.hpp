/// The command line that the driver passes to the processes that run cells.
///
/// Used by: the driver (writes it), and the main function of every executable with cells (reads it).
#pragma once

#include <lab/harness/cell.hpp>

#include <string>

namespace lab {

/// The request to a cell's process.
struct cell_request {
    std::string experiment;
    std::string implementation;
    settings asked;
    int report_descriptor = -1;
};

/// The first argument of a process that runs a cell. The second argument is the request.
inline constexpr const char* cell_option = "--run-cell";

[[nodiscard]] std::string to_argument(const cell_request& request);

/// Runs the cell. Returns the exit status of the process. An exception of the cell is reported as a failure.
int run_cell(const std::string& argument);

} // namespace lab
