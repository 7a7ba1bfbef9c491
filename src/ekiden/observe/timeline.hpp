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
    unsigned columns = 100; ///< Width of the picture in characters, without the names of the threads.
    /// The duration of the picture. The picture shows the last part of the recording. 0 means that the
    /// picture shows the whole recording.
    std::chrono::nanoseconds last{};
};

/// Writes a line of characters for each thread. All characters stand for time intervals of the same duration.
/// A character shows what the thread did for most of its interval.
///   #        the thread runs a task
///   =        the thread is in a span of the program
///   .        the thread is parked
///   b        the thread is blocked
///   l        the thread waits for a lock
///   (blank)  the recording does not say what the thread did
///
/// Below each line, write_timeline() writes how much time the thread spent in each state. The text does not
/// depend on the locale. Throws std::bad_alloc. Throws std::invalid_argument if the number of columns is 0.
void write_timeline(std::ostream& to, const trace::snapshot& shot, const timeline_options& options = {});

} // namespace ekiden::inline EKIDEN_ABI
