/// Runs programs in a separate process, and reports whether they succeed.
#pragma once

#include <cstdint>
#include <set>
#include <string>

namespace seams {

struct batch {
    std::uint64_t first = 0;
    std::uint64_t count = 1;
    unsigned repeats = 1; ///< of each program
    double seconds = 0;   ///< no program begins after this time; 0: no limit
    bool shows_stacks = false;
};

struct outcome {
    bool is_good = true;
    std::string what;       ///< what went wrong
    std::uint64_t seed = 0; ///< the failing program, or the program after the last one
    std::uint64_t runs = 0;
};

/// Runs the programs in a child process until one fails: by a wrong account, a crash, or no progress.
[[nodiscard]] outcome run_batch(const batch& b);

/// Returns the largest number of actions of the program.
[[nodiscard]] unsigned size_of(std::uint64_t seed) noexcept;

/// Masks actions as long as the program still fails. Returns the masked actions.
[[nodiscard]] std::set<unsigned> shrink(std::uint64_t seed, const std::string& what, double seconds);

/// Returns the part of a message that identifies the account.
[[nodiscard]] std::string class_of(const std::string& what);

} // namespace seams
