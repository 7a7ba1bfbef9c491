/// A trace at a rate: when each request is due, and how many turns of work it has.
///
/// Used by: experiment replay.
#pragma once

#include <lab/replay/request_trace.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace lab::replay {

/// One request of a schedule.
struct offer {
    std::uint64_t due_ns = 0; // since the start of the run; 0 for all requests if as fast as possible
    std::uint64_t turns = 0;  // number of turns of lab::turn()
    std::uint64_t block_ns = 0;
    std::uint32_t key = 0;
};

struct schedule {
    std::vector<offer> offers;
    std::uint32_t keys = 0;
    double rate = 0;      // requests per second; 0: as fast as possible
    double mean_ns = 0;   // mean of work and waiting, over all requests
    double median_ns = 0; // median of work and waiting
    [[nodiscard]] bool is_paced() const { return rate > 0; }
};

/// Returns the first `count` requests of `trace` at `rate` requests per second (0: all at once). A shorter
/// trace is repeated. The rate stretches the arrivals, but does not change the services.
[[nodiscard]] schedule make_schedule(const request_trace& trace, double rate, std::size_t count,
                                     double turns_per_us);

/// Rounds a positive rate to two significant digits, but at least to 1.
[[nodiscard]] double rounded(double rate);

} // namespace lab::replay
