/// Small random programs of atomic operations. They are used to compare the checker with the enumerator.
///
/// Part: check (differential). Used by: enumerator.cpp and comparison.cpp, which share no other code.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

namespace ekiden::check::differential {

enum class action : std::uint8_t { load, store, exchange, fetch_add, compare_exchange, fence };

/// One operation of a thread.
struct step {
    action what = action::load;
    std::memory_order how = std::memory_order_relaxed;
    std::memory_order on_failure = std::memory_order_relaxed; ///< for compare_exchange
    unsigned location = 0;                                    ///< for all operations except fences
    int operand = 0;                                          ///< the value to store, exchange or add
    int expected = 0;                                         ///< for compare_exchange
};

[[nodiscard]] constexpr bool reads(const step& s) noexcept {
    return s.what != action::store && s.what != action::fence;
}

/// Threads without branches. The initial value of every location is 0.
struct program {
    unsigned locations = 0;
    std::vector<std::vector<step>> threads;
};

inline constexpr unsigned most_threads = 3;
inline constexpr unsigned most_locations = 3;
inline constexpr unsigned most_steps = 8; ///< sum over all threads

/// The value that each read has returned, in the order of threads and steps, followed by the final value of
/// each location.
using outcome = std::vector<int>;

/// Returns the program for `seed`, which is the same on every machine.
[[nodiscard]] program make_program(std::uint64_t seed);

/// Returns the program as text, with a column for each thread and a line for each step.
[[nodiscard]] std::string to_text(const program& p);

} // namespace ekiden::check::differential
