/// The call stack of the calling thread as text, for reports of misuse.
///
/// Part: sys. Used by: sim.
#pragma once

#include <ekiden/sys/config.hpp>

#include <string>

namespace ekiden::inline EKIDEN_ABI::sys {

/// Returns one line per call, the innermost call first. Each line begins with `indent`. A line contains the
/// function's name if the program exports its symbols. If the program does not export its symbols, the line
/// contains FILE(+OFFSET). The command `addr2line -Cfpe FILE OFFSET` prints the file name and the line
/// number. The result is empty if the system provides no call stacks. Throws std::bad_alloc.
[[nodiscard]] std::string call_stack(const char* indent);

} // namespace ekiden::inline EKIDEN_ABI::sys
