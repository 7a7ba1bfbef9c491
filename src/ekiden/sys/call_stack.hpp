/// The call stack of the calling thread as text, for reports of misuse.
///
/// Part: sys. Used by: sim.
#pragma once

#include <ekiden/sys/config.hpp>

#include <string>

namespace ekiden::inline EKIDEN_ABI::sys {

/// Returns one line per call, innermost first, each preceded by `indent`. A line has the function's name if
/// the program exports its symbols. Otherwise it has FILE(+OFFSET), which `addr2line -Cfpe FILE OFFSET`
/// converts to a source line. Empty if the system has no such information. Throws std::bad_alloc.
[[nodiscard]] std::string call_stack(const char* indent);

} // namespace ekiden::inline EKIDEN_ABI::sys
