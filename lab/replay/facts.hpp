/// What can be said of a trace before anything is measured.
///
/// Used by: replay's command line.
#pragma once

#include <lab/replay/request_trace.hpp>

namespace lab::replay {

struct trace_facts {
    double rate = 0;      // requests a second
    double peak_rate = 0; // in the busiest second, or the whole of a shorter trace
    double mean_service_us = 0;
    double mean_block_us = 0;
    double blocking_share = 0; // of the requests
    double arrival_cv2 = 0;    // squared coefficient of variation of the gaps
    double service_cv2 = 0;    // the same of service and waiting together
    double hottest_share = 0;  // of the requests, of the key that has most of the time
    double hottest_us = 0;     // mean of its requests, with their waiting
};

[[nodiscard]] trace_facts describe(const request_trace& trace);

/// The rate beyond which no model that serves a key's requests one at a time can go: 1/(p S), p the hottest
/// key's share and S the mean time of its requests.
[[nodiscard]] double bound_of_hottest_key(const trace_facts& f);

/// The rate beyond which `processors` have too much work.
[[nodiscard]] double bound_of_processors(const trace_facts& f, unsigned processors);

/// The mean wait before service in one server at `rate`, in microseconds, by Kingman's estimate
/// ("The single server queue in heavy traffic", 1961); infinite from the bound on.
[[nodiscard]] double kingman_wait_us(const trace_facts& f, double rate);

} // namespace lab::replay
