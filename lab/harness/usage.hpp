/// The cost of a section of the process: wall time, CPU time, context switches.
///
/// Used by: cell. Sources: the steady clock and the times of the process (system.hpp), which cover all
/// threads, including ended ones.
#pragma once

#include <chrono>
#include <cstdint>

namespace lab {

/// Seconds and counts. The difference of two readings is what was used between them.
struct usage {
    double wall_s = 0;
    double user_s = 0;
    double system_s = 0;
    double voluntary_switches = 0;
    double involuntary_switches = 0;

    [[nodiscard]] double cpu_s() const { return user_s + system_s; }
};

/// Returns the usage of the process so far. `wall_s` counts from the epoch of the steady clock.
[[nodiscard]] usage usage_now();

[[nodiscard]] usage operator-(const usage& end, const usage& begin);

/// Returns the time of the steady clock in nanoseconds.
inline std::uint64_t now_ns() {
    return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                          std::chrono::steady_clock::now().time_since_epoch())
                                          .count());
}

} // namespace lab
