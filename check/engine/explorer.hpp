/// Explores a model: depth first up to a bound of preemptions, at random, or a single execution again.
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
    unsigned bound = 3;              ///< largest number of preemptions; smaller bounds are searched first
    unsigned old_values = unbounded; ///< for the depth-first search: see options::old_values
    bool random = false;             ///< random priorities (PCT) instead of depth first
    std::uint64_t seed = 1;          ///< seed of the random search
    std::uint64_t executions = ~std::uint64_t{0}; ///< largest number of executions
    double seconds = 60;                          ///< limit of processor time
    /// Wall-clock time without a call of the checker, after which the model counts as hanging.
    unsigned silence_ms = 10'000;
    std::optional<mutation> mutant = {};
    bool discover = false; ///< collects order sites and logic mutants
    std::string_view broken =
        {}; ///< a part of the engine that is switched off (engine::lacks()), to test the tests
};

/// The result of a search.
struct result {
    bool failed = false;
    std::string failure; ///< the reason
    std::string table;   ///< the failing execution, one operation per line
    std::string replay;  ///< the text for replay()
    std::uint64_t executions = 0;
    std::uint64_t redundant = 0;   ///< how many of these were abandoned as repetitions
    std::uint64_t steps = 0;       ///< number of operations in all executions
    std::optional<unsigned> bound; ///< the largest bound that was searched completely
    bool complete = false;         ///< whether the requested bound was searched completely
    bool unbounded = false;        ///< whether more preemptions or old values would also add nothing
    double seconds = 0;            ///< processor time
    findings found;
};

/// Throws std::runtime_error if models cannot run in this program. This is so if it is linked with -static or
/// with a sanitizer, because the checker would also restore the static storage of those libraries. Call it
/// before models run.
void require_own_statics();

/// Explores a model. A failing model is a result, not an exception. Throws only std::bad_alloc.
[[nodiscard]] result explore(const model& m, const search& how);

/// Runs the execution that `text` describes. Throws std::invalid_argument if `text` is not a replay string.
[[nodiscard]] result replay(const model& m, std::string_view text, std::optional<mutation> mutant = {});

} // namespace ekiden::check
