/// The active lanes of one shard, found by key: entries that appear and vanish, and memory that does too.
///
/// Part: lanes. Used by: lanes_state; lanes, which knows the type of the key.
///
/// A hash table with chains that grows and shrinks by one bucket at a time (W. Litwin, "Linear Hashing",
/// 1980), so that no call takes long. Entries lie in chunks of 64 and do not move; a chunk without a lane is
/// given back.
#pragma once

#include <ekiden/queue/task.hpp>
#include <ekiden/sys/config.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace ekiden::inline EKIDEN_ABI {

/// What a lane is apart from its key, which lies behind it. 24 bytes.
struct lane {
    using index = std::uint32_t;
    static constexpr index none = ~index{0};

    enum : std::uint32_t {
        is_ready = 1,     ///< in the shard's list of lanes with something to run
        is_running = 2,   ///< a thread runs its tasks, or is about to
        is_closed = 4,    ///< takes nothing until it is idle
        has_waiters = 8,  ///< threads wait until it is idle, or until it has room
        has_probe = 16,   ///< the delay of one of its tasks is measured
        has_one_out = 32, ///< where tasks are counted: one was taken to be run, and does not count any more
        has_turn = 64,    ///< is_running, by a dispatch whose turn has not come yet
        has_own = 128,    ///< and the function of that is the oldest task
    };
    static constexpr unsigned flag_bits = 8;

    /// The part of its key's hash that the table uses.
    [[nodiscard]] std::uint32_t hash() const noexcept { return flags >> flag_bits; }
    [[nodiscard]] static std::uint32_t used_of(std::uint64_t hash) noexcept {
        return static_cast<std::uint32_t>(hash) << flag_bits >> flag_bits;
    }
    [[nodiscard]] bool is(std::uint32_t flag) const noexcept { return (flags & flag) != 0; }

    union {
        task* newest = nullptr; ///< of the tasks that wait, in a ring: its `next` is the oldest. Null: none
        lane* next_gone;        ///< of an entry that has left the table: the next one whose key still lives
    };
    index chain =
        none; ///< the next entry of its bucket, or the next free one; of one that has left, its number
    index next_ready = none;
    std::uint32_t depth = 0; ///< tasks that wait; where they are not counted, also those taken to be run
    std::uint32_t flags = 0; ///< below flag_bits; above them the hash, which stays
};

/// Not thread-safe: under the shard's lock. Hashes are mixed already: all their bits are good. It calls
/// nothing of the program but `==` of a key: the hash of an entry lies in its lane.
class lane_table {
public:
    /// Entries of `entry_bytes`, a lane and a key behind it.
    explicit lane_table(std::size_t entry_bytes) noexcept : entry_bytes_(entry_bytes) {}
    lane_table(const lane_table&) = delete;
    lane_table& operator=(const lane_table&) = delete;
    ~lane_table() = default;

    [[nodiscard]] std::size_t size() const noexcept { return size_; }

    [[nodiscard]] lane& at(lane::index i) const noexcept {
        return *static_cast<lane*>(
            static_cast<void*>(chunks_[i / chunk_size].entries.get() + i % chunk_size * entry_bytes_));
    }

    /// The entry with this hash for which `is_wanted(lane&)`, or none.
    template <class Wanted>
    [[nodiscard]] lane::index find(std::uint64_t hash, Wanted&& is_wanted) const {
        if (buckets_.empty()) return lane::none;
        const std::uint32_t used = lane::used_of(hash);
        lane::index i = buckets_[bucket_of(used)];
        while (i != lane::none) {
            lane& here = at(i);
            if (here.hash() == used && is_wanted(here)) break;
            i = here.chain;
        }
        return i;
    }

    /// Room for one more entry: the lane is made, the key is not, and it is not found yet. Throws
    /// std::bad_alloc. Then insert(), or give_back() if there is no key after all.
    [[nodiscard]] lane::index allocate();
    void insert(lane::index fresh, std::uint64_t hash) noexcept;
    void give_back(lane::index unused) noexcept;

    /// Takes the entry out. Its key has not been destroyed, its memory remains until give_back().
    void remove(lane::index gone) noexcept;

    /// Bytes of memory that it has now.
    [[nodiscard]] std::size_t footprint() const noexcept;

private:
    static constexpr lane::index chunk_size = 64;
    static constexpr std::size_t fewest_buckets = 8;
    static constexpr std::size_t most_buckets = std::size_t{1} << (32 - lane::flag_bits);

    struct chunk {
        std::unique_ptr<std::byte[]> entries; // null: the number is free
        lane::index first_free = lane::none;
        std::uint32_t used = 0;
        std::size_t place = 0; // among the open ones
    };

    [[nodiscard]] std::size_t bucket_of(std::uint32_t used) const noexcept;
    void add_chunk();
    void open(std::size_t number) noexcept;
    void close(std::size_t number) noexcept;
    void split() noexcept;
    void merge() noexcept;

    const std::size_t entry_bytes_;
    std::size_t size_ = 0;
    std::size_t mask_ = 0; // as many low bits as number all buckets
    std::vector<lane::index> buckets_;
    std::vector<chunk> chunks_;
    std::vector<std::size_t> open_;         // numbers of chunks with free entries; room for all
    std::vector<std::size_t> free_numbers_; // room for all
};

} // namespace ekiden::inline EKIDEN_ABI
