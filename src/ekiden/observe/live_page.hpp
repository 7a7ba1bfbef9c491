/// A web page that shows what a program does now, as charts that move.
///
/// Part: observe. Used by: programs that serve their metrics by HTTP.
#pragma once

#include <ekiden/sys/config.hpp>

#include <string_view>

namespace ekiden::inline EKIDEN_ABI {

/// Returns the text of a web page (HTML in UTF-8) that shows the metrics of a program. Serve the page from
/// any path, with the content type "text/html; charset=utf-8". The page reads `metrics` beside it once a
/// second. So the same port must serve the text of a prometheus_page there. The page loads nothing else.
///
/// The page shows the rates of tasks and requests, the queue delays, the threads, the stalls, and these
/// lists:
///  * hot lanes: the values of each metric whose name ends in "_lane_longest_wait_seconds", with the label
///    `key`. The page shows the 20 largest values.
///  * the last slow tasks: the values that add_metrics() writes for a slow_task_history
///
/// Texts from the program, such as keys, are shown as texts, even if they contain HTML. Any thread may call
/// this function. The text is valid until the program ends.
[[nodiscard]] std::string_view live_page() noexcept;

} // namespace ekiden::inline EKIDEN_ABI
