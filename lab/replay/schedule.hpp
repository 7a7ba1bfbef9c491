/// A trace at a rate: which requests are due when, for how many turns of work.
///
/// Used by: experiment replay.
#pragma once

#include <lab/replay/request_trace.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace lab::replay {

/// One request as it is offered.
struct offer {
    std::uint64_t due_ns = 0; // since the run's begin; 0 for all as fast as possible
    std::uint64_t turns = 0;  // of lab::turn()
    std::uint64_t block_ns = 0;
    std::uint32_t key = 0;
};

struct schedule {
    std::vector<offer> offers;
    std::uint32_t keys = 0;
    double rate = 0;      // requests a second; 0: as fast as possible
    double mean_ns = 0;   // of work and waiting, of all requests
    double median_ns = 0; // the same, the median
    [[nodiscard]] bool is_paced() const { return rate > 0; }
};

/// The first `count` requests of `trace` at `rate` requests a second (0: all at once). A shorter trace is
/// repeated from its begin. The rate stretches the arrivals, and leaves the services as they are.
[[nodiscard]] schedule make_schedule(const request_trace& trace, double rate, std::size_t count,
                                     double turns_per_us);

/// A rate above 0 with two digits that matter; at least 1.
[[nodiscard]] double rounded(double rate);

} // namespace lab::replay
