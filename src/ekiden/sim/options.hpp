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

/// The ways in which a seed chooses the next step.
enum class scheduler : std::uint8_t {
    /// The scheduler of seed 0. The oldest task runs first. Time moves only if no task can run.
    dull,
    random,        ///< Chooses each runnable task with the same probability.
    priorities,    ///< Gives tasks priorities, which change at few points of the run (the PCT algorithm).
    delay_bounded, ///< Runs the oldest task first, but delays a few tasks.
};
/// Returns the name of a scheduler.
[[nodiscard]] const char* name_of(scheduler kind) noexcept;

/// The options of explore().
struct options {
    std::uint64_t seeds = 1000;        ///< Number of seeds.
    std::uint64_t first = 0;           ///< The first seed.
    fault_set faults;                  ///< Faults that may occur.
    std::optional<scheduler> only;     ///< The scheduler to use. If empty, each seed chooses a scheduler.
    std::uint32_t max_steps = 100'000; ///< A run with more steps fails with `no_progress`.
    /// A run with more virtual time fails with `no_progress`.
    std::chrono::nanoseconds max_time = std::chrono::hours(24);
    unsigned check_every = 16;  ///< Every n-th seed runs twice, and the runs are compared. 0 means never.
    unsigned max_shrinks = 500; ///< Largest number of runs for shrinking a failure. 0 means no shrinking.
    /// If a step takes longer than this time, the name of the step is printed to standard error. 0 turns this
    /// output off.
    std::chrono::milliseconds watch{1000};
    bool prints = true; ///< Whether to print a failure to standard error.
};

/// The kinds of failures.
enum class verdict : std::uint8_t {
    none,
    expectation,    ///< The condition of expect() was false.
    exception,      ///< A handler or the test threw an exception.
    order,          ///< The class in_order found a number that did not increase.
    count,          ///< The event of an exactly_once happened twice.
    dead,           ///< An object with a `life` was used after its destruction.
    stuck,          ///< No task can run, but a wait or outstanding work has not completed.
    no_progress,    ///< The run took more steps or virtual time than allowed.
    lost,           ///< A task was accepted and never run, or the event of an exactly_once never happened.
    blocking,       ///< A call blocks the thread.
    irreproducible, ///< Two runs with the same choices differ.
    real,           ///< The test used a part that cannot be simulated, such as a thread_pool.
};
/// Returns the name of a kind of failure.
[[nodiscard]] const char* name_of(verdict kind) noexcept;

/// The result of explore(). The value 0 of a choice means the oldest task, no fault or no delay.
struct report {
    verdict kind = verdict::none; ///< The kind of the first failure.
    std::string why;              ///< The failure in one line.
    /// The text of the report: the reason, the timeline, the pending work, and the call that replays the run.
    std::string text;
    std::string replay;                           ///< The tape of the shrunk run, as text for replay().
    std::uint64_t seed = 0;                       ///< The failing seed.
    scheduler found_by = scheduler::dull;         ///< The scheduler of the failing seed.
    std::uint64_t runs = 0;                       ///< Number of runs before the shrinking.
    std::uint64_t steps = 0;                      ///< Number of steps of all runs before the shrinking.
    std::size_t choices = 0;                      ///< Number of choices in the failing run that are not 0.
    std::size_t shrunk_choices = 0;               ///< Number of choices in the shrunk run that are not 0.
    std::size_t shrunk_steps = 0;                 ///< Number of steps of the shrunk run.
    bool is_complete = false;                     ///< Whether explore_all() has run all schedules.
    std::map<std::string, std::uint64_t> reached; ///< Number of runs that have reached each mark.

    /// Returns whether no failure was found.
    [[nodiscard]] bool is_clean() const noexcept { return kind == verdict::none; }
};

} // namespace ekiden::inline EKIDEN_ABI::sim
