/// The event of an interruption. Used by: the sources of the harness for Windows.
#pragma once

namespace lab {

/// Returns the handle of an event that is set when the program is interrupted, or null without
/// catch_interrupts().
[[nodiscard]] void* interrupt_event();

} // namespace lab
