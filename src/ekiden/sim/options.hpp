/// What an exploration is asked to do, and what it has found.
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

/// How a seed chooses who is next.
enum class scheduler : std::uint8_t {
    dull,          ///< the oldest first, and time stands still while anything can run: seed 0
    random,        ///< all that can run with the same probability
    priorities,    ///< priorities that change at few points (PCT)
    delay_bounded, ///< the oldest first, but for few delays
};
/// As text.
[[nodiscard]] const char* name_of(scheduler kind) noexcept;

/// What explore() does.
struct options {
    std::uint64_t seeds = 1000;                                 ///< how many are run
    std::uint64_t first = 0;                                    ///< the first seed
    fault_set faults;                                           ///< that may happen
    std::optional<scheduler> only;                              ///< instead of a drawn one
    std::uint32_t max_steps = 100'000;                          ///< a run with more makes no progress
    std::chrono::nanoseconds max_time = std::chrono::hours(24); ///< the same, in virtual time
    unsigned check_every = 16;                                  ///< each so many-th seed runs twice; 0: none
    unsigned max_shrinks = 500;            ///< runs to make the failing one smaller; 0: none
    std::chrono::milliseconds watch{1000}; ///< a step that takes longer is named on standard error; 0: none
    bool prints = true;                    ///< the failure, to standard error
};

/// What was wrong.
enum class verdict : std::uint8_t {
    none,
    expectation,    ///< expect() was false
    exception,      ///< a handler, or the test, has thrown
    order,          ///< in_order: something was overtaken
    count,          ///< exactly_once: more than once
    dead,           ///< life: used after its end
    stuck,          ///< nothing can run, and somebody waits
    no_progress,    ///< more steps or time than allowed
    lost,           ///< accepted, and never run
    blocking,       ///< a call that blocks the thread
    irreproducible, ///< the same choices lead to different runs
    real,           ///< a part that runs for real, such as a thread_pool
};
/// As text.
[[nodiscard]] const char* name_of(verdict kind) noexcept;

/// What explore() has found.
struct report {
    verdict kind = verdict::none;         ///< what was wrong, first
    std::string why;                      ///< one line
    std::string text;                     ///< all that is printed: why, timeline, who waits, how to replay
    std::string replay;                   ///< for replay(): the smallest tape
    std::uint64_t seed = 0;               ///< that failed
    scheduler found_by = scheduler::dull; ///< how the seed chose
    std::uint64_t runs = 0;               ///< without those that shrink
    std::uint64_t steps = 0;              ///< of all these runs
    std::size_t choices = 0;              ///< of the seed that failed, those that are not dull
    std::size_t shrunk_choices = 0;       ///< what is left of them
    std::size_t shrunk_steps = 0;         ///< of the run that is left
    bool is_complete = false;             ///< explore_all: all of them have been run
    std::map<std::string, std::uint64_t> reached; ///< marks: in how many runs

    /// Whether nothing was wrong.
    [[nodiscard]] bool is_clean() const noexcept { return kind == verdict::none; }
};

} // namespace ekiden::inline EKIDEN_ABI::sim
