/// Random numbers for tests.
#pragma once

#include <cstdint>

namespace ekiden_test {

/// Random numbers that are the same on every machine.
struct dice {
    std::uint64_t state;
    unsigned below(unsigned range) noexcept {
        state = state * 6364136223846793005U + 1442695040888963407U;
        return static_cast<unsigned>(state >> 33) % range;
    }
};

} // namespace ekiden_test
