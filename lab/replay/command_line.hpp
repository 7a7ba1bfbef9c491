/// `ekiden-lab replay FILE...`: measures a trace of the user with every model.
///
/// Used by: main. lab/report/replay.py makes the report from its results.
#pragma once

namespace lab::replay {

/// argv[0] is "replay". Returns the exit status of the process: 2 for a wrong command line or file, otherwise
/// like run().
int command_line(int argc, char** argv);

} // namespace lab::replay
