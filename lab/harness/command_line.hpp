/// The lab's command line: reads it and makes a plan of it.
///
/// Used by: main.
#pragma once

namespace lab {

/// The process's exit status: 2 for a wrong command line, or else that of run().
int command_line(int argc, char** argv);

} // namespace lab
