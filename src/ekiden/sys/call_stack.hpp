/// Call stacks of threads as text, for reports of misuse and of slow tasks.
///
/// Part: sys. Used by: pool, sim.
#pragma once

#include <ekiden/sys/config.hpp>
#include <ekiden/sys/thread_probe.hpp>

#include <string>

namespace ekiden::inline EKIDEN_ABI::sys {

/// Returns one line per call, the innermost call first. Each line begins with `indent`. A line contains the
/// function's name if the program exports its symbols. If the program does not export its symbols, the line
/// contains FILE(+OFFSET). The command `addr2line -Cfpe FILE OFFSET` prints the file name and the line
/// number. The result is empty if the system provides no call stacks. Throws std::bad_alloc.
[[nodiscard]] std::string call_stack(const char* indent);

/// Installs the handler that call_stack_of() needs for `signal`. The handler stays installed. Returns false
/// if `signal` is no signal that can be handled, or if the program has a handler for it. Returns true and
/// does nothing on systems without call stacks.
[[nodiscard]] bool accept_stack_signal(int signal) noexcept;

/// Returns the call stack of another thread, like call_stack(). Sends `signal` to the thread, for which
/// accept_stack_signal() has returned true. Returns an empty string if the thread does not answer within 100
/// ms. The signal may end a system call of the thread early, with the error EINTR. Any thread may call this
/// function. Throws std::bad_alloc.
[[nodiscard]] std::string call_stack_of(const thread_probe& whose, int signal, const char* indent);

} // namespace ekiden::inline EKIDEN_ABI::sys
