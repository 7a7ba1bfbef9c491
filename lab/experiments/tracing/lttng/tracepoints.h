/* What LTTng-UST records for the experiment. Its headers include this file several times, each time with
   other meanings of the macros. */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER ekiden_lab

#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE <lab/experiments/tracing/lttng/tracepoints.h>

#if !defined(LAB_LTTNG_TRACEPOINTS) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define LAB_LTTNG_TRACEPOINTS

#include <lttng/tracepoint.h>

LTTNG_UST_TRACEPOINT_EVENT(ekiden_lab, moment, LTTNG_UST_TP_ARGS(unsigned, value),
                           LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(unsigned, value, value)))
LTTNG_UST_TRACEPOINT_EVENT(ekiden_lab, begin, LTTNG_UST_TP_ARGS(), LTTNG_UST_TP_FIELDS())
LTTNG_UST_TRACEPOINT_EVENT(ekiden_lab, end, LTTNG_UST_TP_ARGS(), LTTNG_UST_TP_FIELDS())

#endif

#include <lttng/tracepoint-event.h>
