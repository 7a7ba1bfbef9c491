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
    unsigned columns = 100; ///< Width of the picture in characters, not counting the names of the threads.
    /// The duration of the part that is shown. This part ends at the end of the recording. 0 shows the whole
    /// recording.
    std::chrono::nanoseconds last{};
};

/// Writes a line of characters for each thread. Each character stands for the same length of time. A
/// character shows what the thread did for most of that time.
///   #  runs a task       =  is in a span of the program         .  is parked   (blank)  nothing is known
///   b  is blocked        l  waits for a lock
///
/// Below each line, writes how much time the thread spent in each state. The text does not depend on the
/// locale. Throws std::bad_alloc. Throws std::invalid_argument if the number of columns is 0.
void write_timeline(std::ostream& to, const trace::snapshot& shot, const timeline_options& options = {});

} // namespace ekiden::inline EKIDEN_ABI
