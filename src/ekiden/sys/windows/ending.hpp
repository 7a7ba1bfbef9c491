/// The end of a process and of a module on Windows, and what a thread notes about its sleep.
///
/// Part: sys. Used by: the sources of sys for Windows. Private.
#pragma once

#include <ekiden/sys/atomic.hpp>

namespace ekiden::inline EKIDEN_ABI::sys {

/// Returns whether the process exits and the system has ended all threads except this one. The destructors of
/// static objects of a DLL run in this state. In a program, these destructors run earlier.
[[nodiscard]] bool has_lost_other_threads() noexcept;

/// Whether the thread sleeps in a wait of the library.
struct sleep_note {
    atomic<bool> is_asleep;
};

} // namespace ekiden::inline EKIDEN_ABI::sys
