#include <lab/harness/busy.hpp>
#include <lab/harness/usage.hpp>

#include <algorithm>

namespace lab {

[[gnu::aligned(64)]] void empty_loop(std::uint64_t turns) noexcept {
    // Prevents the compiler from removing the loop.
    for (std::uint64_t i = 0; i < turns; ++i) asm volatile("" : "+r"(i));
}

double calibrate_turns_per_us(int trials) {
    constexpr std::uint64_t turns = 100'000;
    double best = 0;
    std::uint64_t seed = 1;
    for (int trial = 0; trial < trials; ++trial) {
        const std::uint64_t begin = now_ns();
        seed = turn(turns, seed);
        const std::uint64_t took = std::max<std::uint64_t>(now_ns() - begin, 1);
        best = std::max(best, static_cast<double>(turns) * 1e3 / static_cast<double>(took));
    }
    return best;
}

} // namespace lab
