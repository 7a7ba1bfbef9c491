/// What a program chooses for its lanes, and what the lanes report.
///
/// Part: lanes. Used by: programs.
#pragma once

#include <ekiden/sys/config.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

namespace ekiden::inline EKIDEN_ABI {

/// What a post does if there is no room for its function.
enum class when_full : std::uint8_t {
    reject, ///< The post returns false.
    /// The function is queued, and the post returns when there is room for it. Some posts do not wait: see
    /// lanes.
    block,
    drop_oldest, ///< The oldest function that waits in the lane is abandoned. If none waits, the new one is.
    drop_newest, ///< The new function is abandoned, and the post returns true.
};

/// The options of lanes.
struct lanes_options {
    std::size_t lane_capacity = 0; ///< The most functions that wait in one lane. 0: no limit.
    /// The most functions that wait in all lanes together. 0: no limit. Costs a common lock for each
    /// function.
    std::size_t capacity = 0;
    when_full policy = when_full::reject;
    /// The number of parts with a lock each, rounded up to a power of two. 0: one per usable processor,
    /// rounded down.
    unsigned shards = 0;
    /// The delay of one function in so many is measured, rounded up to a power of two. 0: none is measured.
    unsigned delay_sampling = 16;
};

/// Counters of what the lanes have done since they were constructed. The shards are read one after the other
/// while the lanes run.
template <class Key>
struct lanes_metrics {
    /// True if the metrics contain keys: if copying a key runs no code of its own. Otherwise they contain the
    /// hash, so that no key is kept alive.
    static constexpr bool keeps_keys = std::is_trivially_copyable_v<Key> && std::copyable<Key>;
    /// The time that a function of a key has waited.
    struct delay {
        std::conditional_t<keeps_keys, Key, std::size_t>
            key;          ///< the lane's key, or `Hash()(key)`: see keeps_keys
        std::uint64_t ns; ///< from the post to the call
    };

    std::size_t active = 0;   ///< lanes with a function that waits or runs now
    std::uint64_t posted = 0; ///< functions accepted
    std::uint64_t run = 0;    ///< functions called, counted at the end of each batch
    /// Functions abandoned after they were accepted: for lack of room or memory, by close(), or because the
    /// inner executor threw.
    std::uint64_t dropped = 0;
    std::uint64_t rejected = 0; ///< posts refused for lack of room, or because the lane was closed
    std::uint64_t beyond = 0;   ///< posts accepted beyond a capacity, because they must not wait: see lanes
    std::size_t memory = 0;     ///< bytes of the entries of lanes, and of up to 64 unused ones per shard
    std::vector<delay> delays;  ///< for some lanes, the longest measured delay, in descending order
};

} // namespace ekiden::inline EKIDEN_ABI
