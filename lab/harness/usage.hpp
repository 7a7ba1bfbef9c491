/// What a stretch of the process cost: wall time, CPU time, context switches.
///
/// Used by: cell. Source: the steady clock and getrusage(RUSAGE_SELF), which covers all threads, ended ones
/// too.
#pragma once

#include <chrono>
#include <cstdint>

namespace lab {

/// Seconds and counts. As a difference: what was used between two readings.
struct usage {
    double wall_s = 0;
    double user_s = 0;
    double system_s = 0;
    double voluntary_switches = 0;
    double involuntary_switches = 0;

    [[nodiscard]] double cpu_s() const { return user_s + system_s; }
};

/// The process's use so far; `wall_s` counts from the steady clock's epoch.
[[nodiscard]] usage usage_now();

[[nodiscard]] usage operator-(const usage& end, const usage& begin);

/// Nanoseconds of the steady clock.
inline std::uint64_t now_ns() {
    return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                          std::chrono::steady_clock::now().time_since_epoch())
                                          .count());
}

} // namespace lab
