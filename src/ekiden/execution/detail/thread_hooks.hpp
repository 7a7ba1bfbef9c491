/// Calls the functions that a program has set for the start and the end of each thread of a pool.
///
/// Part: execution. Used by: pools and loop pools. Private.
#pragma once

#include <ekiden/sys/config.hpp>

#include <exception>
#include <functional>
#include <string_view>

namespace ekiden::inline EKIDEN_ABI {

/// Calls `hook(index)` if `hook` is not empty. `option` is the name of the option that contains `hook`.
/// Passes an exception of the hook to `on_unhandled`, with the name `option` in place of the name of a type,
/// like report_unhandled(). Ends the program with a message if the hook has called fork() and returns in the
/// child.
void call_thread_hook(const std::function<void(unsigned)>& hook, const char* option, unsigned index,
                      const std::function<void(std::exception_ptr, std::string_view)>& on_unhandled) noexcept;

} // namespace ekiden::inline EKIDEN_ABI
