/// Exports the metrics of a pool to Prometheus.
///
/// Part: pool. Used by: programs.
#pragma once

#include <ekiden/observe/prometheus.hpp>
#include <ekiden/pool/slow_task.hpp>
#include <ekiden/pool/thread_pool.hpp>

#include <string_view>

namespace ekiden::inline EKIDEN_ABI {

/// Adds the metrics of a pool to a page. The names of the metrics begin with "ekiden_pool_". Each metric has
/// the label pool="<pool>", so a page can contain the metrics of several pools. Throws std::bad_alloc.
void add_metrics(prometheus_page& to, const thread_pool_metrics& of, std::string_view pool);

/// Adds the newest reports about slow tasks of a pool to a page. The metric "ekiden_pool_slow_task_seconds"
/// has a value for each report. Its labels are the pool, the rank (1 is the newest report), the index of the
/// thread, the type of the task, and what the task waits for. Throws std::bad_alloc.
void add_metrics(prometheus_page& to, const slow_task_history& of, std::string_view pool);

} // namespace ekiden::inline EKIDEN_ABI
