/// A pool's metrics for Prometheus.
///
/// Part: pool. Used by: programs.
#pragma once

#include <ekiden/observe/prometheus.hpp>
#include <ekiden/pool/thread_pool.hpp>

#include <string_view>

namespace ekiden::inline EKIDEN_ABI {

/// Adds them to the page as metrics "ekiden_pool_...", each with the label pool="<pool>", so that a page can
/// have several pools. Throws std::bad_alloc.
void add_metrics(prometheus_page& to, const thread_pool_metrics& of, std::string_view pool);

} // namespace ekiden::inline EKIDEN_ABI
