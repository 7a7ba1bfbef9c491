/// Breaks the library on purpose and counts how often the models notice.
///
/// Part: check (driver).
#pragma once

#include <check/engine/model.hpp>

#include <string>
#include <vector>

namespace ekiden::check {

/// Tries every mutant that `chosen` can reach and whose name contains `only`, `width` processes at a time,
/// and prints the score and the survivors. Returns 1 if a mutant survives that check/survivors.txt does not
/// explain, else 0.
int score_mutants(const std::vector<const model*>& chosen, const std::string& only, unsigned width,
                  bool deep);

} // namespace ekiden::check
