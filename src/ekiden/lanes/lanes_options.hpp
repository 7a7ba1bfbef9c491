/// The options of lanes, and the metrics that lanes report.
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

/// What a post does if a capacity is reached, so that there is no room for its function.
enum class when_full : std::uint8_t {
    reject, ///< The post returns false.
    /// The function is queued, and the post returns when there is room for the function. The comment of lanes
    /// says which posts do not wait.
    block,
    /// The oldest waiting function of the lane is abandoned. If no function waits in the lane, the new
    /// function is abandoned.
    drop_oldest,
    drop_newest, ///< The new function is abandoned, and the post returns true.
};

/// The options of lanes.
struct lanes_options {
    std::size_t lane_capacity = 0; ///< The maximum number of waiting functions of one lane. 0 means no limit.
    /// The maximum number of functions that wait in all lanes together. 0 means no limit. With a limit, each
    /// post and each run of a function acquires a lock that all lanes share.
    std::size_t capacity = 0;
    when_full policy = when_full::reject;
    /// The number of shards, which is rounded up to a power of two. Each shard has one lock and a part of the
    /// keys. The value 0 means the number of usable processors, rounded down to a power of two.
    unsigned shards = 0;
    /// The lanes measure the delays of a random sample of functions. On average, one of `delay_sampling`
    /// functions is measured. The value 0 means that no delay is measured.
    unsigned delay_sampling = 16;
};

/// Counters of the work that the lanes have done since their construction. The shards are read one after the
/// other, and the lanes continue to run meanwhile.
template <class Key>
struct lanes_metrics {
    /// True if keys are trivially copyable. In this case, the metrics contain keys. Otherwise the metrics
    /// contain the hashes of keys, so that no key is kept alive.
    static constexpr bool keeps_keys = std::is_trivially_copyable_v<Key> && std::copyable<Key>;
    /// The time for which a function of a key has waited.
    struct delay {
        std::conditional_t<keeps_keys, Key, std::size_t>
            key;          ///< the key of the lane if keeps_keys is true, otherwise its hash
        std::uint64_t ns; ///< the time from the post to the call, in nanoseconds
    };

    std::size_t active = 0;   ///< number of lanes with a function that waits or runs now
    std::uint64_t posted = 0; ///< number of accepted functions
    std::uint64_t run = 0;    ///< Number of called functions, updated at the end of each batch.
    /// The number of functions that were abandoned after they had been accepted. A function is abandoned for
    /// lack of room or memory, by close(), or because the inner executor has thrown an exception.
    /// A turn that is withdrawn counts like an abandoned function.
    std::uint64_t dropped = 0;
    std::uint64_t rejected = 0; ///< number of posts that were refused because the lane was full or closed
    /// The number of posts that were not able or allowed to wait and exceeded a capacity. A request with
    /// several keys counts once for each key without room.
    std::uint64_t beyond = 0;
    std::size_t memory = 0;    ///< number of bytes in tables, lanes, and up to 64 unused lanes per shard
    std::vector<delay> delays; ///< the longest measured delays, at most one per key, longest first
};

} // namespace ekiden::inline EKIDEN_ABI
