/// The environment of a coroutine: its executor, its stop and its deadline.
///
/// Part: async. Used by: programs, coroutines and everything that they await. Made by co_spawn, and by
/// functions that give a part of a program an environment of its own (a deadline, a shield, a group).
#pragma once

#include <ekiden/execution/any_executor.hpp>
#include <ekiden/execution/priority.hpp>
#include <ekiden/sys/clock.hpp>

#include <cstdint>
#include <utility>

namespace ekiden::inline EKIDEN_ABI {

class stop_state;
namespace detail {
class coroutine_service;
struct environment_access;
} // namespace detail

/// The environment that coroutines inherit. Each coroutine has a pointer to it, which the coroutines that it
/// awaits inherit. It lies in the frame of its maker, which outlives them. It does not change while
/// coroutines use it, except by resume_on().
struct environment {
    environment() = default;
    /// Makes an environment with this executor and this stop. Null means that it cannot be stopped.
    explicit environment(any_executor where, stop_state* stopped_by = nullptr) noexcept
        : executor(std::move(where)), stop(stopped_by) {}

    /// The coroutine resumes here after every await, without a post if it is here already.
    any_executor executor;
    stop_state* stop = nullptr;                                      ///< null: it cannot be stopped
    sys::clock::time_point deadline = sys::clock::time_point::max(); ///< max(): there is none
    /// The priority, which the executor already has: see at_priority().
    enum priority priority = ekiden::priority::normal;
    /// The chain of a simulation to which its coroutines belong; 0: none. It fills the padding behind the
    /// priority.
    std::uint32_t chain = 0;
    const char* name = nullptr; ///< for dumps

private:
    friend struct detail::environment_access;
    // The service of the context on which the root was spawned, or null. Copies keep it.
    detail::coroutine_service* keeper_ = nullptr;
};

namespace detail {
/// Access to the service that destroys coroutines that cannot resume on their executor.
struct environment_access {
    [[nodiscard]] static coroutine_service* keeper(const environment& of) noexcept { return of.keeper_; }
    static void set_keeper(environment& of, coroutine_service& keeper) noexcept { of.keeper_ = &keeper; }
};

/// The environment of a coroutine that has moved. `before` is its executor before the last move. A coroutine
/// that moves between two executors keeps both, because copying a strand costs an atomic operation.
struct hopped_environment : environment {
    any_executor before; // an executor that is_plain()
};
} // namespace detail

/// Returns the environment of coroutines that were given none, such as coroutines that another library's
/// coroutine awaits: the system_executor, no stop, no deadline.
[[nodiscard]] const environment& default_environment() noexcept;

/// Returns an executor of the same pool with the priority `level`. Returns any other executor unchanged.
[[nodiscard]] any_executor at_priority(const any_executor& where, priority level);

} // namespace ekiden::inline EKIDEN_ABI
