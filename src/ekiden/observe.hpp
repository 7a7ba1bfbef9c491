/// Traces, metrics and logs of requests.
///
/// Part: observe. Used by: programs. Includes every public header of this part.
#pragma once

#include <ekiden/observe/chrome_trace.hpp>
#include <ekiden/observe/flight_recorder.hpp>
#include <ekiden/observe/histogram_snapshot.hpp>
#include <ekiden/observe/live_page.hpp>
#include <ekiden/observe/live_view.hpp>
#include <ekiden/observe/prometheus.hpp>
#include <ekiden/observe/request_log.hpp>
#include <ekiden/observe/timeline.hpp>
#include <ekiden/observe/trace.hpp>
