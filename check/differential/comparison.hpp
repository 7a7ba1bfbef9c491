/// Compares what the checker explores with what C++20 allows, for one random program.
///
/// Part: check (differential). Used by: its own program (main.cpp) and check/tests.
#pragma once

#include <check/differential/enumerator.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace ekiden::check::differential {

struct comparison {
    bool same = false;        ///< the checker's outcomes are allowed::in_order
    bool more_in_cpp = false; ///< the standard allows more: seq_cst operations out of the order of execution
    std::uint64_t executions = 0;
    std::string report; ///< the seed, the program and both sets
};

/// `broken` names a part of the engine that is left out (search::broken).
[[nodiscard]] comparison compare(std::uint64_t seed, std::string_view broken = {});

} // namespace ekiden::check::differential
