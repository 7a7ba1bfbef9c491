/// Writes a trace as lines of text for a terminal.
///
/// Part: observe. Used by: programs.
#pragma once

#include <ekiden/observe/trace.hpp>

#include <chrono>
#include <ostream>

namespace ekiden::inline EKIDEN_ABI {

/// The options of write_timeline().
struct timeline_options {
    unsigned columns = 100; ///< width of the picture in characters, without the threads' names
    /// The length of the part that is shown, at the end of the recording. 0: the whole recording.
    std::chrono::nanoseconds last{};
};

/// Writes a line of characters for each thread. Each character stands for an equal part of the time, and
/// shows what the thread did for most of it:
///   #  a task            =  a span of the program in a task     .  parked      (blank)  nothing is known
///   b  blocked           l  waits for a lock
/// Below each line, writes how much time the thread spent in each state. The text depends on no locale.
/// Throws std::bad_alloc, and std::invalid_argument for 0 columns.
void write_timeline(std::ostream& to, const trace::snapshot& shot, const timeline_options& options = {});

} // namespace ekiden::inline EKIDEN_ABI
