/// Work of a known length: a chain of dependent additions and multiplications that touches no memory.
///
/// Used by: granularity, spin-vs-mutex, lanes, io-models. Calibrated once by the driver, so that all
/// implementations do the same work.
#pragma once

#include <cstdint>

namespace lab {

/// Keeps one core busy for `turns` steps; the result must be used.
inline std::uint64_t turn(std::uint64_t turns, std::uint64_t seed) noexcept {
    std::uint64_t x = seed;
    for (std::uint64_t i = 0; i < turns; ++i) {
        x = x * 6364136223846793005ULL + 1442695040888963407ULL;
        asm volatile("" : "+r"(x)); // each step really happens
    }
    return x;
}

/// A loop that does nothing, `turns` times: the work of the source on executors, about a cycle a turn. It is
/// one function for all, for where its code lies may double its time.
void empty_loop(std::uint64_t turns) noexcept;

/// Steps of turn() per microsecond on an undisturbed core: the best of the trials, of about 0.2 ms each.
[[nodiscard]] double calibrate_turns_per_us(int trials = 100);

} // namespace lab
