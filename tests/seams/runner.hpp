/// Runs programs in a process of their own, and finds out whether they end well.
#pragma once

#include <cstdint>
#include <set>
#include <string>

namespace seams {

struct batch {
    std::uint64_t first = 0;
    std::uint64_t count = 1;
    unsigned repeats = 1; ///< of each program
    double seconds = 0;   ///< after which no further program begins; 0: no limit
    bool shows_stacks = false;
};

struct outcome {
    bool is_good = true;
    std::string what;       ///< went wrong
    std::uint64_t seed = 0; ///< which program it was, or the one after the last
    std::uint64_t runs = 0;
};

/// Runs the programs in a child process until one goes wrong: an account, a crash, or no progress.
[[nodiscard]] outcome run_batch(const batch& b);

/// The largest number of actions of the program.
[[nodiscard]] unsigned size_of(std::uint64_t seed) noexcept;

/// Masks actions as long as the program fails. Returns what is left to mask.
[[nodiscard]] std::set<unsigned> shrink(std::uint64_t seed, const std::string& what, double seconds);

/// The part of a message that says which account it is.
[[nodiscard]] std::string class_of(const std::string& what);

} // namespace seams
