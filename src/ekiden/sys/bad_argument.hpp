/// How the library refuses an argument or an option that is out of range: one exception, one form of message.
///
/// Part: sys. Used by: all parts.
#pragma once

#include <ekiden/sys/config.hpp>

#include <concepts>
#include <string>
#include <string_view>

namespace ekiden::inline EKIDEN_ABI::sys {

/// Throws std::invalid_argument with the message "thread_pool: threads is 5000, allowed is 0 to 4096".
/// `where` is the class or function ("thread_pool"), `argument` the name of the argument or option
/// ("threads"), `value` what it was, with its unit, and `allowed` what it may be ("0 to 4096").
[[noreturn]] void refuse_argument(std::string_view where, std::string_view argument, std::string_view value,
                                  std::string_view allowed);

/// The same for a number.
template <std::integral Number>
[[noreturn]] void refuse_argument(std::string_view where, std::string_view argument, Number value,
                                  std::string_view allowed) {
    refuse_argument(where, argument, std::to_string(value), allowed);
}

} // namespace ekiden::inline EKIDEN_ABI::sys
