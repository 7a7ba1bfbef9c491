/// What a coroutine works under: where it runs, who may stop it, until when.
///
/// Part: async. Used by: programs, coroutines and everything that they await. Made by co_spawn and by what
/// gives a part of a program an environment of its own (a deadline, a shield, a group).
#pragma once

#include <ekiden/execution/any_executor.hpp>
#include <ekiden/execution/priority.hpp>
#include <ekiden/sys/clock.hpp>

#include <cstdint>

namespace ekiden::inline EKIDEN_ABI {

class stop_state;
namespace detail {
class coroutine_service;
}

/// A coroutine has a pointer to one, and those that it awaits inherit the pointer. It lies in the frame of
/// what made it, which outlives them. Nobody changes it while coroutines work under it, but for resume_on().
struct environment {
    /// Home: after every await the coroutine is there, without a post if it is there already.
    any_executor executor;
    stop_state* stop = nullptr;                                      ///< null: cannot be stopped
    sys::clock::time_point deadline = sys::clock::time_point::max(); ///< max(): there is none
    /// The executor has it already: see at_priority().
    enum priority priority = ekiden::priority::normal;
    /// Which chain of a simulation the coroutines under it are, 0: none. In the room behind the priority.
    std::uint32_t chain = 0;
    const char* name = nullptr; ///< for dumps
    /// Of the context that the root was spawned on: ends what cannot come home. Private; copies keep it.
    detail::coroutine_service* keeper = nullptr;
};

namespace detail {
/// Of a coroutine that has hopped: `before` is where it was before the last hop. Strands count their handles,
/// with an atomic step each; a coroutine that hops to and fro between two has both already.
struct hopped_environment : environment {
    any_executor before; // one that is_plain()
};
} // namespace detail

/// That of coroutines that nobody gave one, such as those that another library's coroutine awaits: the
/// system_executor, no stop, no deadline.
[[nodiscard]] const environment& default_environment() noexcept;

/// The executor of a pool at another priority; any other executor as it is.
[[nodiscard]] any_executor at_priority(const any_executor& where, priority level);

} // namespace ekiden::inline EKIDEN_ABI
