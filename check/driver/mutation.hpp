/// Mutates the sources and counts the mutants that some model kills.
///
/// Part: check (driver).
#pragma once

#include <check/engine/model.hpp>

#include <string>
#include <vector>

namespace ekiden::check {

struct mutant_search {
    std::string only;      ///< tries only mutants whose name contains this text
    std::string sources;   ///< memory orders are weakened in this folder of the root and below
    std::string survivors; ///< a file that explains the mutants that may survive; empty: none may
    unsigned width = 1;    ///< number of processes at a time
    bool deep = false;     ///< searches ten minutes for each mutant
};

/// Tries every mutant that `chosen` can reach. Prints the score and the survivors. Returns 1 if an
/// unexplained mutant survives, otherwise 0. Also returns 1 if a model fails without a mutant, and then tries
/// none. Throws std::invalid_argument if no mutant matches, or if the explanations cannot be read.
int score_mutants(const std::vector<const model*>& chosen, const mutant_search& how);

} // namespace ekiden::check
