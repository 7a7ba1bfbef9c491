/// A hash table of the active lanes of one shard.
///
/// Part: lanes. Used by: lanes_state, and lanes.
///
/// Each bucket of the hash table is a chain of lanes. The table grows and shrinks by one bucket at a time,
/// like the linear hashing of Litwin (1980). So no function of the table takes long.
#pragma once

#include <ekiden/lanes/detail/lane.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ekiden::inline EKIDEN_ABI {

/// A hash table of lanes. The table does not own the lanes.
///
/// Thread safety: none. The lock of the shard guards the table. Callers must pass mixed hashes, which means
/// that all bits are well distributed. The only function of the program that the table calls is the `==` of
/// keys.
class lane_table {
public:
    lane_table() : buckets_(fewest_buckets) {}

    [[nodiscard]] std::size_t size() const noexcept { return size_; }

    /// Returns the lane with this hash for which `is_wanted(const lane&)` is true. Returns null if there is
    /// no such lane.
    template <class Wanted>
    [[nodiscard]] lane* find(std::uint32_t hash, Wanted&& is_wanted) const {
        lane* here = buckets_[bucket_of(hash)];
        while (here != nullptr && !(here->hash == hash && is_wanted(*here))) here = here->chain;
        return here;
    }
    void insert(lane& fresh) noexcept;
    void remove(lane& gone) noexcept;

    /// Returns the number of bytes that the table has allocated.
    [[nodiscard]] std::size_t footprint() const noexcept { return buckets_.capacity() * sizeof(lane*); }

private:
    // At least twice the number of lanes to which one call of lanes_state::sort() gives tasks. Otherwise each
    // round of tasks would add and remove buckets.
    static constexpr std::size_t fewest_buckets = 128;

    [[nodiscard]] std::size_t bucket_of(std::uint32_t hash) const noexcept {
        // If this bucket does not exist yet, its lanes are in another bucket. The number of the other bucket
        // is the same number without the highest bit.
        const std::size_t bucket = hash & mask_;
        return bucket < buckets_.size() ? bucket : bucket & (mask_ >> 1);
    }
    void split() noexcept;
    void merge() noexcept;

    std::size_t size_ = 0;
    std::size_t mask_ = fewest_buckets - 1; // selects the bits of a hash that are the bucket number
    std::vector<lane*> buckets_;
};

} // namespace ekiden::inline EKIDEN_ABI
