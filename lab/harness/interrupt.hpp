/// Ctrl-C and the request to end (SIGINT, SIGTERM), as a state to be asked for instead of a sudden death.
///
/// Used by: the driver (ends the running cell), a run (writes what it has). The signals stay blocked and
/// pending, and a descriptor tells of them, so nothing runs in a signal handler and no moment is missed. Not
/// thread-safe.
#pragma once

namespace lab {

/// From now on the two signals only set the state. Call it once, before any other thread exists.
void catch_interrupts();

/// Whether one of them has come since. It stays true. False without catch_interrupts().
[[nodiscard]] bool interrupted();

/// Sleeps for `seconds`, or until interrupted.
void sleep_unless_interrupted(double seconds);

/// Readable once interrupted: for poll(). -1, which poll() ignores, without catch_interrupts().
[[nodiscard]] int interrupt_descriptor();

/// In a child process, before it becomes another program: the signals end it again.
void forget_interrupts();

} // namespace lab
