/// Handles an exception that leaves a task without a future.
///
/// Part: execution. Used by: pools and loop pools, whose threads have no caller that could catch it. Private.
#pragma once

#include <ekiden/sys/config.hpp>

#include <exception>
#include <functional>
#include <string_view>

namespace ekiden::inline EKIDEN_ABI {

/// Passes the exception that is being handled to `handler`, with the name of the type in `description` (see
/// type_description()). If there is no handler, prints both to standard error and calls std::terminate.
void report_unhandled(const std::function<void(std::exception_ptr, std::string_view)>& handler,
                      const char* description) noexcept;

} // namespace ekiden::inline EKIDEN_ABI
