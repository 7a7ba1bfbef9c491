/// The options and the report of an exploration.
///
/// Part: sim. Used by: tests of programs.
#pragma once

#include <ekiden/sim/fault.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace ekiden::inline EKIDEN_ABI::sim {

/// How a seed chooses the next step.
enum class scheduler : std::uint8_t {
    dull,          ///< seed 0: oldest task first; time moves only if nothing can run
    random,        ///< each runnable task with the same probability
    priorities,    ///< priorities that change at few points (PCT)
    delay_bounded, ///< oldest task first, with few delays
};
/// Returns the name of a scheduler.
[[nodiscard]] const char* name_of(scheduler kind) noexcept;

/// The options of explore().
struct options {
    std::uint64_t seeds = 1000;        ///< number of seeds
    std::uint64_t first = 0;           ///< the first seed
    fault_set faults;                  ///< faults that may occur
    std::optional<scheduler> only;     ///< the scheduler to use instead of a drawn one
    std::uint32_t max_steps = 100'000; ///< a run with more steps counts as no progress
    /// A run with more virtual time also counts as no progress.
    std::chrono::nanoseconds max_time = std::chrono::hours(24);
    unsigned check_every = 16;             ///< every n-th seed runs twice, to compare the runs; 0: none
    unsigned max_shrinks = 500;            ///< largest number of runs that shrink the failing one; 0: none
    std::chrono::milliseconds watch{1000}; ///< a longer step is named on standard error; 0: none
    bool prints = true;                    ///< whether a failure is printed to standard error
};

/// The kinds of failures.
enum class verdict : std::uint8_t {
    none,
    expectation,    ///< expect() was false
    exception,      ///< a handler or the test threw
    order,          ///< in_order: something was overtaken
    count,          ///< exactly_once: it happened more than once
    dead,           ///< life: used after its destruction
    stuck,          ///< nothing can run, and work or a wait is not complete
    no_progress,    ///< more steps or time than allowed
    lost,           ///< a task was accepted and never run, or an exactly_once never happened
    blocking,       ///< a call that blocks the thread
    irreproducible, ///< the same choices lead to different runs
    real,           ///< a part that runs for real, such as a thread_pool
};
/// Returns the name of a kind of failure.
[[nodiscard]] const char* name_of(verdict kind) noexcept;

/// The result of explore().
struct report {
    verdict kind = verdict::none; ///< the first failure
    std::string why;              ///< the failure in one line
    std::string text;       ///< everything that is printed: the reason, timeline, pending work, how to replay
    std::string replay;     ///< the smallest tape, for replay()
    std::uint64_t seed = 0; ///< the failing seed
    scheduler found_by = scheduler::dull;         ///< the scheduler of that seed
    std::uint64_t runs = 0;                       ///< number of runs before the shrinking
    std::uint64_t steps = 0;                      ///< steps of all these runs
    std::size_t choices = 0;                      ///< number of choices of the failing seed that are not dull
    std::size_t shrunk_choices = 0;               ///< the same for the shrunk run
    std::size_t shrunk_steps = 0;                 ///< steps of the shrunk run
    bool is_complete = false;                     ///< explore_all: whether all schedules have been run
    std::map<std::string, std::uint64_t> reached; ///< the number of runs that have reached each mark

    /// Returns whether no failure was found.
    [[nodiscard]] bool is_clean() const noexcept { return kind == verdict::none; }
};

} // namespace ekiden::inline EKIDEN_ABI::sim
