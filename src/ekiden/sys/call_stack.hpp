/// Where the calling thread is, in words: for reports of misuse.
///
/// Part: sys. Used by: sim.
#pragma once

#include <ekiden/sys/config.hpp>

#include <string>

namespace ekiden::inline EKIDEN_ABI::sys {

/// A line for each call, the innermost first, as the system tells them: names where the program exports its
/// symbols, else FILE(+OFFSET), which `addr2line -Cfpe FILE OFFSET` makes a line of source of. Empty where
/// the system does not tell. Throws std::bad_alloc.
[[nodiscard]] std::string call_stack(const char* indent);

} // namespace ekiden::inline EKIDEN_ABI::sys
