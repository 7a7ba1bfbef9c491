/// The lab's command line. Converts it to a plan.
///
/// Used by: main.
#pragma once

namespace lab {

/// Returns the exit status of the process: 2 for a wrong command line, otherwise the status of run().
int command_line(int argc, char** argv);

} // namespace lab
