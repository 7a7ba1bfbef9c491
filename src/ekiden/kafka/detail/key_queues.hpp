/// The keys of a partition that need care: keys that wait for a retry, and parked keys.
///
/// Part: kafka. Used by: partition_ledger, worker_core. Private.
///
/// A key usually has no entry here, and its records only wait in their lane. When a record fails, its key
/// gets an entry before the lane continues. Each later record of the key that leaves the lane waits in the
/// entry, behind the failed record. When the failed record has ended, the waiting records run one after the
/// other. The entry is removed when none is left. So the key waits, other keys continue, and no lane is
/// blocked.
#pragma once

#include <ekiden/kafka/detail/held_record.hpp>
#include <ekiden/sync/mutex.hpp>
#include <ekiden/sys/atomic.hpp>

#include <cstddef>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace ekiden::inline EKIDEN_ABI::kafka::detail {

/// Thread safety: all members may be called concurrently. For one key, the lane calls enter() and lead() in
/// the order of the records.
class key_queues {
public:
    enum class entry : std::uint8_t {
        run,    ///< The function of the record runs.
        waits,  ///< The record waits here for an earlier record of its key.
        parked, ///< The key is parked, so the record goes to the dead letters.
        closed, ///< close() was called.
    };

    /// Returns what happens to a record that leaves its lane.
    [[nodiscard]] entry enter(held_record& r) {
        // Relaxed is enough: an entry for this key was made by an earlier record of the same lane, and the
        // lane orders its records. close() is checked again by the phase of the record.
        return count_.load(sys::relaxed) == 0 ? entry::run : enter_slowly(r);
    }
    /// A record has failed and will run again: later records of its key wait for it. Returns false if close()
    /// was called. Then the record is given up.
    [[nodiscard]] bool lead(held_record& r);
    /// From now on, all records of the key are dead letters. Returns false if the key was parked before.
    bool park(std::string_view key);
    /// The record that leads its key has ended. Returns the next record of the key, which leads the key now.
    /// If there is none, removes the entry and returns null.
    [[nodiscard]] held_record* next(held_record& ended);
    /// Returns all waiting records, and removes them. From now on, no record waits or runs.
    [[nodiscard]] std::vector<held_record*> close();

    /// Returns whether a key waits or is parked, or close() was called.
    [[nodiscard]] bool has_entries() const noexcept { return count_.load(sys::relaxed) != 0; }
    [[nodiscard]] std::size_t waiting_keys() const;
    [[nodiscard]] std::size_t parked_keys() const;
    /// Returns the key with the most waiting records and their number.
    [[nodiscard]] std::pair<std::string, std::size_t> longest() const;

private:
    struct hash {
        using is_transparent = void;
        std::size_t operator()(std::string_view s) const noexcept { return std::hash<std::string_view>()(s); }
    };
    [[nodiscard]] entry enter_slowly(held_record& r);

    mutable mutex lock_;
    std::unordered_map<std::string, std::deque<held_record*>, hash, std::equal_to<>> waiting_;
    std::unordered_set<std::string, hash, std::equal_to<>> parked_;
    bool is_closed_ = false;
    sys::atomic<std::size_t> count_{0}; // number of entries, waiting and parked, and 1 after close()
};

} // namespace ekiden::inline EKIDEN_ABI::kafka::detail
