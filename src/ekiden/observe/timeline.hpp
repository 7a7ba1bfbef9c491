/// A trace as lines of text for a terminal.
///
/// Part: observe. Used by: programs.
#pragma once

#include <ekiden/observe/trace.hpp>

#include <chrono>
#include <ostream>

namespace ekiden::inline EKIDEN_ABI {

/// What write_timeline() shows.
struct timeline_options {
    unsigned columns = 100; ///< of the picture, without the threads' names
    /// The part of the recording that is shown: up to its end; 0: all of it.
    std::chrono::nanoseconds last{};
};

/// Writes a line of characters for each thread, in which each stands for an equal part of the time and shows
/// what the thread did for most of it:
///   #  a task            =  a span of the program in a task     .  parked      (blank)  nothing is known
///   b  blocked           l  waits for a lock
/// and below it how long the threads did what. The text depends on no locale. Throws std::bad_alloc,
/// std::invalid_argument for 0 columns.
void write_timeline(std::ostream& to, const trace::snapshot& shot, const timeline_options& options = {});

} // namespace ekiden::inline EKIDEN_ABI
