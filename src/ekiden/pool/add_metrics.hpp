/// Exports the metrics of a pool to Prometheus.
///
/// Part: pool. Used by: programs.
#pragma once

#include <ekiden/observe/prometheus.hpp>
#include <ekiden/pool/thread_pool.hpp>

#include <string_view>

namespace ekiden::inline EKIDEN_ABI {

/// Adds the metrics of a pool to a page. The names of the metrics begin with "ekiden_pool_". Each metric has
/// the label pool="<pool>", so a page can contain the metrics of several pools. Throws std::bad_alloc.
void add_metrics(prometheus_page& to, const thread_pool_metrics& of, std::string_view pool);

} // namespace ekiden::inline EKIDEN_ABI
