/// A logarithmic histogram of durations, as a plain value.
///
/// Part: observe. Used by: programs, pool, records. There are four buckets for each power of two, as in
/// Tene's HdrHistogram.
#pragma once

#include <ekiden/sys/config.hpp>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace ekiden::inline EKIDEN_ABI {

/// A copy of a histogram's counts, as a plain value. Durations are in nanoseconds. For durations of at least
/// 4 ns, the width of a bucket is at most 25% of its lower bound.
struct histogram_snapshot {
    /// The last bucket begins at 7 * 2^38 ns (32 minutes) and has no upper bound.
    static constexpr std::size_t buckets = 160;

    /// Returns the bucket for a duration of `ns` nanoseconds.
    [[nodiscard]] static constexpr std::size_t bucket_of(std::uint64_t ns) noexcept {
        if (ns < 4) return static_cast<std::size_t>(ns);
        const auto exponent = static_cast<std::size_t>(std::bit_width(ns)) - 1; // >= 2
        const auto quarter = static_cast<std::size_t>(ns >> (exponent - 2)) & 3U;
        const std::size_t bucket = 4 * (exponent - 1) + quarter;
        return bucket < buckets ? bucket : buckets - 1;
    }

    /// Returns the smallest duration of a bucket, in nanoseconds.
    [[nodiscard]] static constexpr std::uint64_t lower_bound(std::size_t bucket) noexcept {
        if (bucket < 4) return bucket;
        return (std::uint64_t{4} + bucket % 4) << (bucket / 4 - 1);
    }

    std::array<std::uint64_t, buckets> counts{};
    std::uint64_t sum_ns = 0; ///< sum of all durations

    /// Returns how many durations were recorded.
    [[nodiscard]] std::uint64_t total() const noexcept {
        std::uint64_t sum = 0;
        for (const std::uint64_t count : counts) sum += count;
        return sum;
    }

    /// Returns the quantile `q` (0 to 1) in nanoseconds, rounded up to the upper bound of its bucket. If the
    /// quantile is in the last bucket, returns the lower bound of that bucket. Returns 0 if no duration was
    /// recorded.
    [[nodiscard]] std::uint64_t quantile(double q) const noexcept;

    histogram_snapshot& operator+=(const histogram_snapshot& other) noexcept {
        for (std::size_t i = 0; i != buckets; ++i) counts[i] += other.counts[i];
        sum_ns += other.sum_ns;
        return *this;
    }
};

} // namespace ekiden::inline EKIDEN_ABI
