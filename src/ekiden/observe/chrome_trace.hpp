/// Writes a trace as JSON for chrome://tracing and ui.perfetto.dev.
///
/// Part: observe. Used by: programs. The format is the "Trace Event Format" of the Chromium project. Where
/// viewers differ, the text follows Perfetto's trace processor.
#pragma once

#include <ekiden/observe/trace.hpp>

#include <cstddef>
#include <ostream>

namespace ekiden::inline EKIDEN_ABI {

/// The options of write_chrome_trace().
struct chrome_trace_options {
    /// The largest number of events that are written. If there are more events, the newest events are
    /// written, and the tracks say how many events are missing. Viewers are slow with more than about 300,000
    /// events.
    std::size_t most_events = 300'000;
    /// The largest number of strands and lanes that get a track of their own. The busiest strands and lanes
    /// are chosen. 0 means that no strand or lane gets a track.
    std::size_t most_lanes = 0;
};

/// Writes `shot` to `to`. Each thread is a track. Nested slices on the track show what the thread did. Arrows
/// lead from the post of a task to its run, from the release of a lock to its acquisition, and from the
/// suspension of a coroutine to its resumption.
///
/// The text is UTF-8. Bytes of names that are not UTF-8 become U+FFFD. The text does not depend on the locale
/// or the format flags of the stream. If writing fails, the stream sets badbit as usual. Throws
/// std::bad_alloc.
void write_chrome_trace(std::ostream& to, const trace::snapshot& shot,
                        const chrome_trace_options& options = {});

} // namespace ekiden::inline EKIDEN_ABI
