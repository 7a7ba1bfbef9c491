/// Describes what coroutines wait for, to debug a program that hangs.
///
/// Part: async. Used by: programs, groups of coroutines (list their own).
#pragma once

#include <ekiden/async/detail/coroutine_promise.hpp>
#include <ekiden/execution/execution_context.hpp>

#include <string>

namespace ekiden::inline EKIDEN_ABI {

/// Returns a line for each coroutine from `root` to the waiting leaf. The line names where the coroutine is
/// defined, and the line of its latest await, as in
///   reader: coroutine<> serve(socket&) (FILE:20), at line 25
/// The first word is the name of its environment, if it has one. No coroutine of the chain may run or end
/// during the call: call it from a debugger, or when the program hangs. Throws std::bad_alloc.
[[nodiscard]] std::string await_chain(const coroutine_promise& root);

/// Returns the chains of all coroutines that were spawned on `context` and have not ended, each followed by
/// an empty line. The same condition applies. Throws std::bad_alloc.
[[nodiscard]] std::string await_chains(execution_context& context);

} // namespace ekiden::inline EKIDEN_ABI
