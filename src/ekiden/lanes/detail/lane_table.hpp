/// The active lanes of one shard, found by key.
///
/// Part: lanes. Used by: lanes_state; lanes, which knows the type of the key.
///
/// A hash table with chains that grows and shrinks by one bucket at a time (W. Litwin, "Linear Hashing",
/// 1980), so no call takes long.
#pragma once

#include <ekiden/lanes/detail/lane_lists.hpp>
#include <ekiden/sys/atomic.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ekiden::inline EKIDEN_ABI {

/// A lane without its key, which is in a derived class. Exists while it has tasks, or runs.
struct lane {
    explicit lane(std::uint32_t of_key) noexcept : hash(of_key) {}

    /// Returns whether nothing needs the lane.
    [[nodiscard]] bool is_unused() const noexcept { return tasks.empty() && !is_ready && !is_running; }

    task_ring tasks;            ///< the tasks that wait
    lane* chain = nullptr;      ///< the next lane of the bucket. After remove(): free for use
    lane* next_ready = nullptr; ///< the next lane in the shard's list of ready lanes
    const std::uint32_t hash;
    std::uint32_t waiting = 0;           ///< the number of `tasks`
    std::uint32_t dequeued = 0;          ///< the size of the batch that is run. With capacities: 0
    bool is_ready = false;               ///< in the shard's list of ready lanes
    bool is_running = false;             ///< a thread runs tasks of the lane
    bool has_waiters = false;            ///< threads may wait for the lane
    sys::atomic<bool> is_closed = false; ///< accepts nothing until it is idle
};

/// The lanes of a shard. It does not own them.
///
/// Thread safety: none. The shard's lock guards the table. Hashes are mixed already: all their bits are good.
/// The only function of the program that the table calls is the `==` of keys.
class lane_table {
public:
    lane_table() : buckets_(fewest_buckets) {}

    [[nodiscard]] std::size_t size() const noexcept { return size_; }

    /// Returns the lane with this hash for which `is_wanted(const lane&)` is true, or null.
    template <class Wanted>
    [[nodiscard]] lane* find(std::uint32_t hash, Wanted&& is_wanted) const {
        lane* here = buckets_[bucket_of(hash)];
        while (here != nullptr && !(here->hash == hash && is_wanted(*here))) here = here->chain;
        return here;
    }
    void insert(lane& fresh) noexcept;
    void remove(lane& gone) noexcept;

    /// Returns how many bytes of memory the table has allocated.
    [[nodiscard]] std::size_t footprint() const noexcept { return buckets_.capacity() * sizeof(lane*); }

private:
    static constexpr std::size_t fewest_buckets = 8;

    [[nodiscard]] std::size_t bucket_of(std::uint32_t hash) const noexcept {
        // If the bucket with this number does not exist yet, its lanes are in the one with one bit less.
        const std::size_t bucket = hash & mask_;
        return bucket < buckets_.size() ? bucket : bucket & (mask_ >> 1);
    }
    void split() noexcept;
    void merge() noexcept;

    std::size_t size_ = 0;
    std::size_t mask_ = fewest_buckets - 1; // the low bits that number all buckets
    std::vector<lane*> buckets_;
};

} // namespace ekiden::inline EKIDEN_ABI
