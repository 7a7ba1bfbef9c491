/// The lab's command line: reads it, runs the experiments, shows tables, writes the results.
///
/// Used by: main.
#pragma once

namespace lab {

/// The process's exit status: 0 if all went well, 1 if a cell of ekiden failed or the results could not be
/// written, 2 for a wrong command line.
int command_line(int argc, char** argv);

} // namespace lab
