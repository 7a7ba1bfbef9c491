/// A histogram of durations. One thread records durations, and other threads read the histogram.
///
/// Part: observe. Used by: pool.
#pragma once

#include <ekiden/observe/detail/counter.hpp>
#include <ekiden/observe/histogram_snapshot.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

namespace ekiden::inline EKIDEN_ABI {

/// A histogram with one owner. Only the owner records durations. Any thread may take a snapshot.
class histogram {
public:
    /// Records a duration of `ns` nanoseconds. Only the owner may call this. The call costs about as much as
    /// two additions to a single_writer_counter.
    void record(std::uint64_t ns) noexcept {
        counts_[histogram_snapshot::bucket_of(ns)].add();
        sum_ns_.add(ns);
    }

    /// Returns a copy of the counts. Any thread may call this. The copy may or may not contain durations that
    /// are recorded during the call.
    [[nodiscard]] histogram_snapshot snapshot() const noexcept {
        histogram_snapshot copy;
        for (std::size_t i = 0; i != histogram_snapshot::buckets; ++i) copy.counts[i] = counts_[i].value();
        copy.sum_ns = sum_ns_.value();
        return copy;
    }

private:
    std::array<single_writer_counter, histogram_snapshot::buckets> counts_{};
    single_writer_counter sum_ns_;
};

} // namespace ekiden::inline EKIDEN_ABI
