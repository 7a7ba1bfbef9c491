/// Runs one program with a time limit and collects what it reports.
///
/// Used by: the driver. A cell that crashes or hangs ends here and takes nothing else down.
#pragma once

#include <string>
#include <vector>

namespace lab {

/// How a child ended.
struct child_outcome {
    enum class ending { exited, signalled, timed_out, interrupted, not_started };
    ending how = ending::not_started;
    int code = 0;            // exit status, signal number, or errno
    std::string reports;     // everything written to the report descriptor
    std::string diagnostics; // everything written to standard output and standard error
};

/// The descriptor on which a child reports.
inline constexpr int child_report_descriptor = 3;

/// Runs `program` with `arguments` in a process group of its own; kills the group after `limit_s` seconds of
/// wall time, when this process is interrupted (interrupt.hpp), and when it dies. `preload`, if not empty, is
/// loaded in front (LD_PRELOAD). Not thread-safe: it forks.
[[nodiscard]] child_outcome run_child(const std::string& program, const std::vector<std::string>& arguments,
                                      double limit_s, const std::string& preload = {});

/// One line for people, for example "crashed: Segmentation fault".
[[nodiscard]] std::string describe(const child_outcome& outcome, double limit_s);

} // namespace lab
