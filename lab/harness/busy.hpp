/// Work of a known length: a chain of dependent additions and multiplications that accesses no memory.
///
/// Used by: granularity, spin-vs-mutex, lanes, io-models. The driver calibrates it once, so that all
/// implementations do the same work.
#pragma once

#include <cstdint>

namespace lab {

/// Keeps one core busy for `turns` steps. The caller must use the result.
inline std::uint64_t turn(std::uint64_t turns, std::uint64_t seed) noexcept {
    std::uint64_t x = seed;
    for (std::uint64_t i = 0; i < turns; ++i) {
        x = x * 6364136223846793005ULL + 1442695040888963407ULL;
        asm volatile("" : "+r"(x)); // prevents the compiler from merging the steps
    }
    return x;
}

/// Runs an empty loop `turns` times, about one cycle each. The published benchmark that io-models repeats
/// uses such a loop as its work. All implementations call this one function, because the position of the loop
/// in the program may double its time.
void empty_loop(std::uint64_t turns) noexcept;

/// Returns the number of steps of turn() per microsecond on an undisturbed core. It is the best of the
/// trials, which take about 0.2 ms each.
[[nodiscard]] double calibrate_turns_per_us(int trials = 100);

} // namespace lab
