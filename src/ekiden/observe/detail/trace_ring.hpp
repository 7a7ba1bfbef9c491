/// The newest records of one thread, in a ring that others copy while it is written.
///
/// Part: observe. Used by: recorder. Private.
///
/// A sequence lock whose sequence is the number of records (L. Lamport, "Concurrent Reading and Writing",
/// 1977; H. Boehm, "Can Seqlocks Get Along with Programming Language Memory Models?", 2012): the writer never
/// waits, and a reader throws away what may have been overwritten while it copied.
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

/// Two words whose meaning is the writer's.
struct trace_record {
    std::uint64_t first = 0;
    std::uint64_t second = 0;
};

/// One thread writes, any thread copies.
class trace_ring {
public:
    /// Keeps the newest `records` of them, a power of two. Throws std::bad_alloc.
    explicit trace_ring(std::size_t records)
        : mask_(std::bit_ceil(records) - 1), slots_(std::make_unique<slot[]>(mask_ + 1)) {}

    [[nodiscard]] std::size_t capacity() const noexcept { return mask_ + 1; }

    /// How many have been written. The writer's thread, or any: a hint.
    [[nodiscard]] std::uint64_t written() const noexcept { return written_.load(sys::relaxed); }

    /// The writer. Overwrites the oldest record when the ring is full.
    void write(trace_record record) noexcept {
        const std::uint64_t n = written_.load(sys::relaxed);
        // [TR1] release fence: a reader that sees a word of this record sees that n records were complete,
        // and so that this one may be half there. Pairs with the acquire fence in copy().
        if (!EKIDEN_MUTANT(trace_ring_announces_nothing)) sys::fence(sys::release);
        slot& here = slots_[n & mask_];
        here.first.store(record.first, sys::relaxed);
        here.second.store(record.second, sys::relaxed);
        // [TR2] release: the record is whole; pairs with the acquire in copy().
        written_.store(n + 1, sys::release);
    }

    /// Any thread: appends to `to` the records from number `from` on that are still there, oldest first.
    /// Returns the number of the first of them, or of the next to be written if there are none. Throws
    /// std::bad_alloc; then `to` is as before.
    std::uint64_t copy(std::uint64_t from, std::vector<trace_record>& to) const {
        const std::uint64_t end = written_.load(sys::acquire); // [TR2] records before `end` are whole
        const std::uint64_t begin = std::max(from, end > mask_ + 1 ? end - (mask_ + 1) : 0);
        if (begin >= end) return end;
        const std::size_t before = to.size();
        to.resize(before + static_cast<std::size_t>(end - begin));
        for (std::uint64_t n = begin; n != end; ++n) {
            const slot& here = slots_[n & mask_];
            to[before + static_cast<std::size_t>(n - begin)] = {here.first.load(sys::relaxed),
                                                                here.second.load(sys::relaxed)};
        }
        sys::fence(sys::acquire); // [TR1]
        // Of record number `now` some words may be there, in the slot of the one that is a ring's length
        // older.
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
