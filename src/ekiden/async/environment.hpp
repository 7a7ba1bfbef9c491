/// The environment of a coroutine consists mainly of its executor, its stop state and its deadline.
///
/// Part: async. Used by: programs, coroutines and awaiters. The function co_spawn() makes an environment for
/// each coroutine that it starts. Deadlines, shields, groups and scopes make environments for the coroutines
/// inside them.
#pragma once

#include <ekiden/execution/any_executor.hpp>
#include <ekiden/execution/priority.hpp>
#include <ekiden/lanes/detail/turn_record.hpp>
#include <ekiden/sys/clock.hpp>

#include <cstdint>
#include <utility>

namespace ekiden::inline EKIDEN_ABI {

class stop_state;
namespace detail {
class coroutine_service;
struct environment_access;
} // namespace detail

/// The environment of one or more coroutines. Each coroutine has a pointer to its environment, and passes
/// this pointer to the coroutines that it awaits. An environment must outlive all coroutines that use it.
/// Only resume_on() changes an environment that a coroutine uses.
struct environment {
    environment() = default;
    /// Makes an environment with the executor `where` and the stop state `stopped_by`. If `stopped_by` is
    /// null, the coroutines cannot be stopped.
    explicit environment(any_executor where, stop_state* stopped_by = nullptr) noexcept
        : executor(std::move(where)), stop(stopped_by) {}

    /// The executor on which the coroutine resumes after every await. If the coroutine is on this executor
    /// already, it may continue without a post.
    any_executor executor;
    /// The stop state of the coroutine. Null means that the coroutine cannot be stopped.
    stop_state* stop = nullptr;
    /// The deadline of the coroutine, or max() if there is no deadline.
    sys::clock::time_point deadline = sys::clock::time_point::max();
    /// The priority that was passed to co_spawn(), if any. The executor of the environment already has this
    /// priority.
    enum priority priority = ekiden::priority::normal;
    /// The number of the chain of tasks to which the coroutines belong in a simulation. Outside simulations,
    /// the number of the chain is 0. This member is declared here because it fits into the padding after
    /// `priority`.
    std::uint32_t chain = 0;
    const char* name = nullptr; ///< the name that dumps show, or null
    turn_mark turns;            ///< For the library's own use: the turns of the coroutine; see async_turn()

private:
    friend struct detail::environment_access;
    // The coroutine_service of the context on which the root coroutine was spawned, or null. Copies of the
    // environment have the same pointer.
    detail::coroutine_service* keeper_ = nullptr;
};

namespace detail {
/// Gives access to the pointer to the coroutine_service in an environment. A coroutine_service destroys
/// coroutines that cannot resume on their executor.
struct environment_access {
    [[nodiscard]] static coroutine_service* keeper(const environment& of) noexcept { return of.keeper_; }
    static void set_keeper(environment& of, coroutine_service& keeper) noexcept { of.keeper_ = &keeper; }
};

/// The environment of a coroutine that resume_on() has moved. `before` is the executor on which the coroutine
/// ran before the last move. The previous executor is kept so that a move back to it needs no copy. Copying a
/// strand takes an atomic operation.
struct hopped_environment : environment {
    any_executor before; // if `before` is not empty, its is_plain() is true
};

/// Throws std::system_error(resource_deadlock_would_occur) if a coroutine must not move to an executor,
/// because the coroutine has a turn in the lanes `lanes`.
void refuse_to_move(const environment& from, const void* lanes);
} // namespace detail

/// Returns the environment of coroutines that have inherited no environment. For example, a coroutine
/// inherits no environment if a coroutine of another library awaits it. The default environment has the
/// system_executor, no stop and no deadline.
[[nodiscard]] const environment& default_environment() noexcept;

/// Returns an executor of the same pool as `where`, with the priority `level`. Returns `where` unchanged if
/// it is not an executor of a pool.
[[nodiscard]] any_executor at_priority(const any_executor& where, priority level);

} // namespace ekiden::inline EKIDEN_ABI
