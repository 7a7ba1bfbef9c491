/// Small random programs of atomic operations, for the comparison of the checker with an enumerator of what
/// C++20 allows.
///
/// Part: check (differential). Used by: enumerator.cpp and comparison.cpp, which share this and nothing else.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

namespace ekiden::check::differential {

enum class action : std::uint8_t { load, store, exchange, fetch_add, compare_exchange, fence };

/// One operation of a thread. Locations begin with 0.
struct step {
    action what = action::load;
    std::memory_order how = std::memory_order_relaxed;
    std::memory_order on_failure = std::memory_order_relaxed; ///< compare_exchange
    unsigned location = 0;                                    ///< all but fences
    int operand = 0;                                          ///< stored, exchanged, added
    int expected = 0;                                         ///< compare_exchange
};

[[nodiscard]] constexpr bool reads(const step& s) noexcept {
    return s.what != action::store && s.what != action::fence;
}

/// Straight-line threads; all locations begin with 0.
struct program {
    unsigned locations = 0;
    std::vector<std::vector<step>> threads;
};

inline constexpr unsigned most_threads = 3;
inline constexpr unsigned most_locations = 3;
inline constexpr unsigned most_steps = 8; ///< of all threads together

/// What each reading operation has read, in the order of threads and steps, then the last value of each
/// location.
using outcome = std::vector<int>;

/// The program that belongs to `seed`, the same on each machine.
[[nodiscard]] program make_program(std::uint64_t seed);

/// The program as text, a column for each thread and a line for each step.
[[nodiscard]] std::string to_text(const program& p);

} // namespace ekiden::check::differential
