/// Writes a trace as JSON for chrome://tracing and ui.perfetto.dev.
///
/// Part: observe. Used by: programs. Format: "Trace Event Format" of the Chromium project. Where viewers
/// differ, it follows Perfetto's trace processor.
#pragma once

#include <ekiden/observe/trace.hpp>

#include <cstddef>
#include <ostream>

namespace ekiden::inline EKIDEN_ABI {

/// The options of write_chrome_trace().
struct chrome_trace_options {
    /// The largest number of events; the newest ones are written. Viewers are slow with more than about
    /// 300,000 events. The tracks say how many events are missing.
    std::size_t most_events = 300'000;
    /// The largest number of strands and lanes that get their own track. The busiest ones come first. 0:
    /// none.
    std::size_t most_lanes = 0;
};

/// Writes `shot` to `to`. Each thread is a track, with what it did as nested slices. Arrows lead from the
/// post of a task to its run, from the release of a lock to its acquisition, and from the suspension of a
/// coroutine to its resumption.
///
/// The text is UTF-8: other bytes in names become U+FFFD. It depends on no locale and on no format of the
/// stream. Sets badbit like the stream does. Throws std::bad_alloc.
void write_chrome_trace(std::ostream& to, const trace::snapshot& shot,
                        const chrome_trace_options& options = {});

} // namespace ekiden::inline EKIDEN_ABI
