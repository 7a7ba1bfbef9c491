/// Where counts of 64 bits are about to go back to 0, for tests.
#pragma once

#include <cstdint>
#include <limits>

constexpr std::uint64_t nearly_wrapped = std::numeric_limits<std::uint64_t>::max() - 2;
