/// Runs a program with a time limit and collects its reports.
///
/// Used by: the driver. A cell that crashes or hangs affects nothing else.
#pragma once

#include <string>
#include <vector>

namespace lab {

/// How a child ended.
struct child_outcome {
    enum class ending { exited, signalled, timed_out, interrupted, not_started };
    ending how = ending::not_started;
    int code = 0;            // exit status, code of the crash, or error of the start
    std::string reports;     // all text that was written to the report descriptor
    std::string diagnostics; // all text that was written to standard output and standard error
};

/// The descriptor to which a child reports.
inline constexpr int child_report_descriptor = 3;

/// Runs `program` with `arguments` in its own process group (Windows: job). Kills the group after `limit_s`
/// seconds of wall time, when this process is interrupted (interrupt.hpp), and when this process dies. Loads
/// `preload` first (LD_PRELOAD) if it is not empty, which only Linux can do. Not thread-safe, because it
/// forks.
[[nodiscard]] child_outcome run_child(const std::string& program, const std::vector<std::string>& arguments,
                                      double limit_s, const std::string& preload = {});

/// Return the names of the codes of a crash, and of a program that could not be started.
[[nodiscard]] std::string name_of_crash(int code);
[[nodiscard]] std::string name_of_start_error(int code);

/// Returns a line for readers, such as "crashed: Segmentation fault".
[[nodiscard]] std::string describe(const child_outcome& outcome, double limit_s);

} // namespace lab
