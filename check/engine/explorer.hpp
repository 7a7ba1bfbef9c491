/// Explores a model with a depth-first search up to a bound of preemptions, or with a random search. Can also
/// repeat a single execution.
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

/// The kind and the limits of a search.
struct search {
    unsigned bound = 3;              ///< Largest number of preemptions. Smaller bounds are searched first.
    unsigned old_values = unbounded; ///< Limit for the depth-first search: see options::old_values.
    bool random = false;    ///< Whether to search with random priorities (PCT) instead of depth first.
    std::uint64_t seed = 1; ///< seed of the random search
    std::uint64_t executions = ~std::uint64_t{0}; ///< largest number of executions
    double seconds = 60;                          ///< Limit of processor time, in seconds.
    /// A model counts as hanging if it does not call the checker for this real time.
    unsigned silence_ms = 10'000;
    std::optional<mutation> mutant = {};
    bool discover = false; ///< Whether to collect the sites of memory orders and the logic mutants.
    std::string_view broken =
        {}; ///< A part of the engine that is switched off, to test the tests: see engine::lacks().
};

/// The result of a search.
struct result {
    bool failed = false;
    std::string failure; ///< the reason
    std::string table;   ///< The failing execution, with one operation per line.
    std::string replay;  ///< the text for replay()
    std::uint64_t executions = 0;
    /// Number of executions that were abandoned because they repeat another execution.
    std::uint64_t redundant = 0;
    std::uint64_t steps = 0;       ///< number of operations in all executions
    std::optional<unsigned> bound; ///< the largest bound that was searched completely
    bool complete = false;         ///< whether the requested bound was searched completely
    bool unbounded = false;        ///< Whether more preemptions or old values would also find nothing new.
    double seconds = 0;            ///< processor time
    findings found;
};

/// Throws std::runtime_error if models cannot run in this program. Models cannot run if the program is linked
/// with -static or with a sanitizer. In such a program, the checker would also restore the static variables
/// of the standard library or of the sanitizer. Call this function before models run.
void require_own_statics();

/// Explores a model. A failing model is a result, not an exception. Throws only std::bad_alloc.
[[nodiscard]] result explore(const model& m, const search& how);

/// Runs the execution that `text` describes. Throws std::invalid_argument if `text` is not a replay string.
[[nodiscard]] result replay(const model& m, std::string_view text, std::optional<mutation> mutant = {});

} // namespace ekiden::check
