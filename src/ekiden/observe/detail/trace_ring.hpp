/// A ring with the newest records of one thread. Other threads can copy the ring while the thread writes.
///
/// Part: observe. Used by: recorder. Private.
///
/// The algorithm is a sequence lock. Its sequence number is the number of written records (Lamport,
/// "Concurrent Reading and Writing", 1977; Boehm, "Can Seqlocks Get Along with Programming Language Memory
/// Models?", 2012). The writer never waits. A reader discards the records that may have been overwritten
/// while it copied them.
#pragma once

#include <ekiden/sys/atomic.hpp>
#include <ekiden/sys/mutant.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace ekiden::inline EKIDEN_ABI {

/// A record of two words. The writer defines the meaning of the words.
struct trace_record {
    std::uint64_t first = 0;
    std::uint64_t second = 0;
};

/// A ring of records. One thread writes records, and any thread may copy them.
class trace_ring {
public:
    /// Constructs a ring for the newest `records` records. This number is rounded up to a power of two.
    /// Throws std::bad_alloc.
    explicit trace_ring(std::size_t records)
        : mask_(std::bit_ceil(records) - 1), slots_(std::make_unique<slot[]>(mask_ + 1)) {}

    [[nodiscard]] std::size_t capacity() const noexcept { return mask_ + 1; }

    /// Returns the number of records written. The number is exact in the writer's thread, and a hint in other
    /// threads.
    [[nodiscard]] std::uint64_t written() const noexcept { return written_.load(sys::relaxed); }

    /// Adds a record. Overwrites the oldest record if the ring is full. Only the writer may call this.
    void write(trace_record record) noexcept {
        const std::uint64_t n = written_.load(sys::relaxed);
        // [TR1] Release fence: a reader that sees a word of record n also sees that n records were complete.
        // So the reader knows that record n may be incomplete. Pairs with the acquire fence in copy().
        if (!EKIDEN_MUTANT(trace_ring_announces_nothing)) sys::fence(sys::release);
        slot& here = slots_[n & mask_];
        here.first.store(record.first, sys::relaxed);
        here.second.store(record.second, sys::relaxed);
        // [TR2] Release: publishes the complete record. Pairs with the acquire in copy().
        written_.store(n + 1, sys::release);
    }

    /// Appends records of the ring to `to`, oldest first. Only the records whose number is at least `from`
    /// are appended. Returns the number of the first appended record. If no record is appended, returns the
    /// number of the next record to be written. Any thread may call this. Throws std::bad_alloc, and then
    /// `to` is unchanged.
    std::uint64_t copy(std::uint64_t from, std::vector<trace_record>& to) const {
        // [TR2] Acquire: makes the records before `end` visible. Pairs with the release in write().
        const std::uint64_t end = written_.load(sys::acquire);
        const std::uint64_t begin = std::max(from, end > mask_ + 1 ? end - (mask_ + 1) : 0);
        if (begin >= end) return end;
        const std::size_t before = to.size();
        to.resize(before + static_cast<std::size_t>(end - begin));
        for (std::uint64_t n = begin; n != end; ++n) {
            const slot& here = slots_[n & mask_];
            to[before + static_cast<std::size_t>(n - begin)] = {here.first.load(sys::relaxed),
                                                                here.second.load(sys::relaxed)};
        }
        sys::fence(sys::acquire); // [TR1] Acquire: pairs with the release fence in write().
        // The writer may already have written words of record number `now` - 1. Record number `now` - 1
        // overwrites the record that is one ring capacity older.
        const std::uint64_t now =
            written_.load(sys::relaxed) + (EKIDEN_MUTANT(trace_ring_trusts_next) ? 0 : 1);
        const std::uint64_t intact = now > mask_ + 1 ? now - (mask_ + 1) : 0;
        if (intact <= begin) return begin;
        const std::uint64_t first = std::min(intact, end);
        const auto oldest = to.begin() + static_cast<std::ptrdiff_t>(before);
        to.erase(oldest, oldest + static_cast<std::ptrdiff_t>(first - begin));
        return first;
    }

private:
    struct slot {
        sys::atomic<std::uint64_t> first{0};
        sys::atomic<std::uint64_t> second{0};
    };

    const std::size_t mask_;
    const std::unique_ptr<slot[]> slots_;
    sys::atomic<std::uint64_t> written_{0};
};

} // namespace ekiden::inline EKIDEN_ABI
