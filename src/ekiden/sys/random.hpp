/// A small random number generator for scheduling decisions, such as the choice of a victim. The generator is
/// not suitable for cryptography.
///
/// Part: sys. Used by: pool, sim. Algorithm: xorshift64* (Marsaglia 2003, Vigna 2016).
#pragma once

#include <ekiden/sys/config.hpp>

#include <cstdint>

namespace ekiden::inline EKIDEN_ABI::sys {

/// A generator of random numbers. A generator is not thread-safe, so each thread has its own. Equal seeds
/// give equal sequences.
class random {
public:
    constexpr explicit random(std::uint64_t seed) noexcept : state_(seed * 0x9E3779B97F4A7C15U | 1U) {}

    /// Returns the next 32 bits.
    constexpr std::uint32_t next() noexcept {
        state_ ^= state_ >> 12;
        state_ ^= state_ << 25;
        state_ ^= state_ >> 27;
        return static_cast<std::uint32_t>((state_ * 0x2545F4914F6CDD1DU) >> 32);
    }

    /// Returns a uniform number in [0, bound). `bound` must not be 0. The bias of the result is below bound /
    /// 2^32. Algorithm: Lemire 2019, without the rejection step.
    constexpr std::uint32_t below(std::uint32_t bound) noexcept {
        return static_cast<std::uint32_t>((std::uint64_t{next()} * bound) >> 32);
    }

private:
    std::uint64_t state_;
};

} // namespace ekiden::inline EKIDEN_ABI::sys
