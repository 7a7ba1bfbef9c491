/// Compares the outcomes that the checker explores with the outcomes that C++20 allows, for one random
/// program.
///
/// Part: check (differential). Used by: main.cpp and check/tests.
#pragma once

#include <check/differential/enumerator.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace ekiden::check::differential {

struct comparison {
    bool same = false; ///< whether the checker's outcomes equal allowed::in_order
    /// Whether the standard allows more, through seq_cst operations out of the order of execution.
    bool more_in_cpp = false;
    std::uint64_t executions = 0;
    std::string report; ///< the seed, the program and both sets of outcomes
};

/// `broken` names a part of the engine that is switched off (search::broken).
[[nodiscard]] comparison compare(std::uint64_t seed, std::string_view broken = {});

} // namespace ekiden::check::differential
