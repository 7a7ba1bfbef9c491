/// Properties of a trace that are known before measuring.
///
/// Used by: replay's command line.
#pragma once

#include <lab/replay/request_trace.hpp>

namespace lab::replay {

struct trace_facts {
    double rate = 0;      // requests a second
    double peak_rate = 0; // in the busiest second, or in the whole trace if that is shorter
    double mean_service_us = 0;
    double mean_block_us = 0;
    double blocking_share = 0; // of the requests
    double arrival_cv2 = 0;    // squared coefficient of variation of the gaps between arrivals
    double service_cv2 = 0;    // the same for service and waiting together
    double hottest_share = 0;  // share of the requests that belong to the key with the most total time
    double hottest_us = 0;     // mean time of that key's requests, including their waiting
};

[[nodiscard]] trace_facts describe(const request_trace& trace);

/// Returns the highest rate of a model that serves the requests of a key one at a time: 1/(p S). Here p is
/// the share of the hottest key. S is the mean time of its requests.
[[nodiscard]] double bound_of_hottest_key(const trace_facts& f);

/// Returns the highest rate for which `processors` can do the work.
[[nodiscard]] double bound_of_processors(const trace_facts& f, unsigned processors);

/// Returns the mean wait before service in one server at `rate`, in microseconds, by Kingman's estimate ("The
/// single server queue in heavy traffic", 1961). Infinite at or above the bound.
[[nodiscard]] double kingman_wait_us(const trace_facts& f, double rate);

} // namespace lab::replay
