/// Handles an exception that a task without a future, or a hook of a thread, has thrown.
///
/// Part: execution. Used by: pools and loop pools. Private. The threads of these pools have no caller that
/// could catch an exception.
#pragma once

#include <ekiden/sys/config.hpp>

#include <exception>
#include <functional>
#include <string_view>

namespace ekiden::inline EKIDEN_ABI {

/// Passes the current exception to `handler`, with the name of the type in `description` (see
/// type_description()). If `description` contains no type, passes the whole text. Without a handler, prints
/// the exception and the name to standard error and calls std::terminate.
void report_unhandled(const std::function<void(std::exception_ptr, std::string_view)>& handler,
                      const char* description) noexcept;

} // namespace ekiden::inline EKIDEN_ABI
