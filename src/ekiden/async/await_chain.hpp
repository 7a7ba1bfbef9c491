/// What coroutines wait for, in words: for the one who looks at a program that hangs.
///
/// Part: async. Used by: programs, groups of coroutines (list their own).
#pragma once

#include <ekiden/async/detail/coroutine_promise.hpp>
#include <ekiden/execution/execution_context.hpp>

#include <string>

namespace ekiden::inline EKIDEN_ABI {

/// A line for each coroutine from `root` to the leaf that waits: where it is defined, and in which line its
/// latest await stands, as in
///   reader: coroutine<> serve(socket&) (FILE:20), at line 25
/// The first word is the name of its environment, if that has one. Called while none of them runs or ends: at
/// a hang, or by a debugger. Throws std::bad_alloc.
[[nodiscard]] std::string await_chain(const coroutine_promise& root);

/// The chains of all coroutines that have been spawned on `context` and have not ended, under the same
/// condition, an empty line behind each. Throws std::bad_alloc.
[[nodiscard]] std::string await_chains(execution_context& context);

} // namespace ekiden::inline EKIDEN_ABI
