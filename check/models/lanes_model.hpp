/// What the models of lanes have in common.
#pragma once

#include <check/models/strand_model.hpp>
#include <ekiden/lanes/lanes.hpp>

// In some models, load buffering is not reported, because some loads are hints. A thread that reads
// has_several_ too early only acquires a lock. A thread that sees a push too early only keeps the drain. A
// drain only compares the number of handles with 0, and this number becomes 0 only under the lock.
#define HINT_MODEL(name, ...) EKIDEN_MODEL(name, .load_buffering = false, .old_values = 2, __VA_ARGS__)

namespace ekiden_model {

using test_lanes = lanes<int, one_place::executor>;

inline constexpr lanes_options one_shard{.shards = 1, .delay_sampling = 0};
inline constexpr lanes_options two_shards{.shards = 2, .delay_sampling = 0};

// With two shards, `low` is in the first shard, and `high` in the second. So a post of both keys pushes the
// claim of `low` first. The model lanes_requests_two_shards checks this.
inline constexpr int low = 0;
inline constexpr int high = 1;
inline constexpr int low_too = 4; // in the shard of `low`

/// Runs what is left: drains that find nothing.
inline void run_rest(one_place& context) {
    while (context.run_one()) {
    }
}

} // namespace ekiden_model
