/// The functions of this header show what the coroutines of a program wait for. Use these functions to debug
/// a program that hangs.
///
/// Part: async. Used by: programs.
#pragma once

#include <ekiden/async/detail/coroutine_promise.hpp>
#include <ekiden/execution/execution_context.hpp>

#include <string>

namespace ekiden::inline EKIDEN_ABI {

/// Returns a text with one line for each coroutine of a chain, from `root` down to the innermost coroutine. A
/// line names the source file and the line where the coroutine is defined, and the line number of its latest
/// await. Example:
///   reader: coroutine<> serve(socket&) (FILE:20), at line 25
///
/// The word before the colon is the name of the environment, if the environment has a name. If the coroutine
/// has a turn in lanes, the line ends with "during a turn". Such a coroutine waits forever if it awaits a
/// request that conflicts with its turn.
///
/// No coroutine of the chain may run or end during the call. So call the function in a debugger, or when the
/// program hangs. Throws std::bad_alloc.
[[nodiscard]] std::string await_chain(const coroutine_promise& root);

/// Returns the await_chain() of every coroutine that was spawned on `context` and has not ended. An empty
/// line follows each chain. No coroutine of these chains may run or end during the call. Throws
/// std::bad_alloc.
[[nodiscard]] std::string await_chains(execution_context& context);

} // namespace ekiden::inline EKIDEN_ABI
