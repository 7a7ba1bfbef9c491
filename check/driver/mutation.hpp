/// Breaks the sources on purpose and counts how often the models notice.
///
/// Part: check (driver).
#pragma once

#include <check/engine/model.hpp>

#include <string>
#include <vector>

namespace ekiden::check {

struct mutant_search {
    std::string only;      ///< in the name of each mutant that is tried
    std::string sources;   ///< memory orders are weakened below this folder of the root
    std::string survivors; ///< the file that explains which may survive; empty: none
    unsigned width = 1;    ///< processes at a time
    bool deep = false;     ///< ten minutes for each
};

/// Tries every mutant that `chosen` can reach and prints the score and the survivors. Returns 1 if one
/// survives that is not explained, or if a model fails without a mutant (then none is tried), else 0. Throws
/// std::invalid_argument if there is no such mutant, or if the explanations cannot be read.
int score_mutants(const std::vector<const model*>& chosen, const mutant_search& how);

} // namespace ekiden::check
