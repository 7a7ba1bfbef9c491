/// What happens to an exception that leaves a task without a future.
///
/// Part: execution. Used by: pools and loop pools, which own threads that nobody catches it in. Private.
#pragma once

#include <ekiden/sys/config.hpp>

#include <exception>
#include <functional>
#include <string_view>

namespace ekiden::inline EKIDEN_ABI {

/// Gives the exception that is being handled to `handler`, with the name in `description` (see
/// type_description()). Without a handler it prints both to standard error and calls std::terminate.
void report_unhandled(const std::function<void(std::exception_ptr, std::string_view)>& handler,
                      const char* description) noexcept;

} // namespace ekiden::inline EKIDEN_ABI
