/// The function that refuses an argument or option which is out of range. All parts of ekiden throw the same
/// exception type, with the same form of message.
///
/// Part: sys. Used by: lanes, loop, observe, pool, sim.
#pragma once

#include <ekiden/sys/config.hpp>

#include <concepts>
#include <string>
#include <string_view>

namespace ekiden::inline EKIDEN_ABI::sys {

/// Throws std::invalid_argument with a message such as "thread_pool: threads is 5000, allowed is 0 to 4096".
/// `where` names the class or function ("thread_pool"). `argument` names the argument or option ("threads").
/// `value` is the refused value, with its unit. `allowed` is the allowed range ("0 to 4096").
[[noreturn]] void refuse_argument(std::string_view where, std::string_view argument, std::string_view value,
                                  std::string_view allowed);

/// An overload for values that are numbers. Throws the same exception.
template <std::integral Number>
[[noreturn]] void refuse_argument(std::string_view where, std::string_view argument, Number value,
                                  std::string_view allowed) {
    refuse_argument(where, argument, std::to_string(value), allowed);
}

} // namespace ekiden::inline EKIDEN_ABI::sys
