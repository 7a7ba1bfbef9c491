/// A trace in the JSON that chrome://tracing and ui.perfetto.dev read.
///
/// Part: observe. Used by: programs. Format: "Trace Event Format" of the Chromium project; where viewers
/// differ, as Perfetto's trace processor reads it.
#pragma once

#include <ekiden/observe/trace.hpp>

#include <cstddef>
#include <ostream>

namespace ekiden::inline EKIDEN_ABI {

/// What write_chrome_trace() writes.
struct chrome_trace_options {
    /// The newest are written: more than some 300,000 open slowly. The tracks say how many are missing.
    std::size_t most_events = 300'000;
    /// Also a track for each strand and lane, at most so many, the busiest ones; 0: none.
    std::size_t most_lanes = 0;
};

/// Writes `shot` to `to`: a track for each thread, with what it did in nested slices; arrows from where a
/// task was posted to where it ran, from where a lock was given to where it was got, and from where a
/// coroutine was suspended to where it went on. The text depends on no locale and on no format of the stream,
/// and is UTF-8: other bytes in names become U+FFFD. Sets badbit as the stream does. Throws std::bad_alloc.
void write_chrome_trace(std::ostream& to, const trace::snapshot& shot,
                        const chrome_trace_options& options = {});

} // namespace ekiden::inline EKIDEN_ABI
