/// Random numbers that are the same on every machine.
#pragma once

#include <cstdint>

namespace seams {

/// The splitmix64 generator by S. Vigna.
class generator {
public:
    explicit generator(std::uint64_t seed) noexcept : state_(seed) {}

    std::uint64_t next() noexcept {
        std::uint64_t z = (state_ += 0x9e3779b97f4a7c15U);
        z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
        z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
        return z ^ (z >> 31U);
    }
    /// Returns a number in [0, range).
    unsigned below(unsigned range) noexcept { return static_cast<unsigned>(next() % range); }
    /// Returns true in `percent` of 100 calls.
    bool chance(unsigned percent) noexcept { return below(100) < percent; }

private:
    std::uint64_t state_;
};

} // namespace seams
