/// Runs a model over all its executions: depth first up to a bound of preemptions, at random, or one again.
///
/// Part: check (engine). Used by: the driver and the engine's tests.
#pragma once

#include <check/engine/engine.hpp>

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace ekiden::check {

/// What to search, and how long.
struct search {
    unsigned bound = 3;                           ///< preemptions; all smaller bounds are searched before
    unsigned old_values = unbounded;              ///< depth first: see options::old_values
    bool random = false;                          ///< random priorities (PCT) instead of depth first
    std::uint64_t seed = 1;                       ///< of the random search
    std::uint64_t executions = ~std::uint64_t{0}; ///< at most so many
    double seconds = 60;                          ///< of processor time, at most
    unsigned silence_ms = 10'000; ///< of wall clock, without an operation of the checker's: the model hangs
    std::optional<mutation> mutant = {};
    bool discover = false; ///< collect order sites and logic mutants
    std::string_view broken =
        {}; ///< a part of the engine that is left out (engine::lacks()), to test what tests it
};

/// What a search has led to.
struct result {
    bool failed = false;
    std::string failure; ///< what was wrong
    std::string table;   ///< the failing execution, one operation a line
    std::string replay;  ///< for replay()
    std::uint64_t executions = 0;
    std::uint64_t redundant = 0;   ///< of these, given up as repetitions
    std::uint64_t steps = 0;       ///< operations in all executions
    std::optional<unsigned> bound; ///< the largest bound that was searched to the end
    bool complete = false;         ///< the bound that was asked for was searched to the end
    bool unbounded = false;        ///< and more preemptions or old values would add nothing
    double seconds = 0;            ///< of processor time
    findings found;
};

/// Throws std::runtime_error if models cannot run in this program: it is linked with -static or with a
/// sanitizer, whose static storage the checker would put back with the program's. Called before models run.
void require_own_statics();

/// Never throws but std::bad_alloc; a failing model is a result.
[[nodiscard]] result explore(const model& m, const search& how);

/// Runs the one execution that `text` stands for. Throws std::invalid_argument if `text` is no replay string.
[[nodiscard]] result replay(const model& m, std::string_view text, std::optional<mutation> mutant = {});

} // namespace ekiden::check
