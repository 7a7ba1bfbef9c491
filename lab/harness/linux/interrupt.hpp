/// What a child process needs of the interruptions. Used by: the sources of the harness for Linux.
#pragma once

namespace lab {

/// Returns a descriptor for poll() that becomes readable when interrupted. Without catch_interrupts(),
/// returns -1, which poll() ignores.
[[nodiscard]] int interrupt_descriptor();

/// Call it in a child process before it executes another program. The signals terminate that program again.
void forget_interrupts();

} // namespace lab
