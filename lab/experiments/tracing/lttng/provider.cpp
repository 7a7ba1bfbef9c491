// A separate library, which only a cell of LTTng-UST may load, because it starts threads.
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include <lab/experiments/tracing/lttng/tracepoints.h>

#include <cstddef>

extern "C" {

/// Returns whether a session records the moments.
bool lab_lttng_is_on() { return lttng_ust_tracepoint_enabled(ekiden_lab, moment) != 0; }

void lab_lttng_moments(std::size_t n) {
    for (std::size_t i = 0; i != n; ++i) lttng_ust_tracepoint(ekiden_lab, moment, static_cast<unsigned>(i));
}

void lab_lttng_intervals(std::size_t n) {
    for (std::size_t i = 0; i != n; ++i) {
        lttng_ust_tracepoint(ekiden_lab, begin);
        lttng_ust_tracepoint(ekiden_lab, end);
    }
}
}
