/// `ekiden-lab replay FILE...`: measures a trace of the user's own through every model.
///
/// Used by: main. The report (lab/report/replay.py) makes sentences and pictures of what it writes.
#pragma once

namespace lab::replay {

/// argv[0] is "replay". The process's exit status: 2 for a wrong command line or file, or else as run().
int command_line(int argc, char** argv);

} // namespace lab::replay
