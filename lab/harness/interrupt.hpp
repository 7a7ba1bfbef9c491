/// Turns SIGINT (Ctrl-C) and SIGTERM into a state that the program checks.
///
/// Used by: the driver (terminates the running cell), a run (writes its results). On Linux, the signals stay
/// blocked and pending, and a descriptor reports them. So no code runs in a signal handler, and no signal is
/// missed. On Windows, Ctrl-C and the end of the console set an event. Not thread-safe.
#pragma once

namespace lab {

/// From now on, the two signals only set the state. Call it once, before any other thread exists.
void catch_interrupts();

/// Returns whether one of them has arrived since catch_interrupts(). It stays true. Without
/// catch_interrupts(), it is false.
[[nodiscard]] bool interrupted();

/// Sleeps for `seconds`, or until interrupted.
void sleep_unless_interrupted(double seconds);

} // namespace lab
