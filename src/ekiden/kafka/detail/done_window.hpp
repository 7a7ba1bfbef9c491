/// The done offsets of a partition: a watermark, below which all offsets are done, and a ring of bits above
/// it.
///
/// Part: kafka. Used by: partition_ledger. Private.
#pragma once

#include <ekiden/kafka/detail/commit_metadata.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ekiden::inline EKIDEN_ABI::kafka::detail {

/// One thread at a time may use it. The memory is constant: one bit for each offset of the largest window.
class done_window {
public:
    /// `window` is the largest number of offsets from the watermark on that may be in work. At most
    /// `most_window`.
    explicit done_window(std::size_t window);

    /// Sets the watermark and the done offsets above it.
    void restore(const done_offsets& from);
    /// Returns whether the watermark is known. It is unknown while no offset has been committed and no record
    /// has arrived.
    [[nodiscard]] bool has_begun() const noexcept { return watermark_ >= 0; }

    /// All offsets below the watermark are done. This is the offset to commit. -1 if it is unknown.
    [[nodiscard]] std::int64_t watermark() const noexcept { return watermark_; }
    /// Returns the offset after the last one that has been passed.
    [[nodiscard]] std::int64_t end() const noexcept { return end_; }
    /// Returns whether this offset can be in work: it is in the window, or all offsets before it are done.
    [[nodiscard]] bool has_room_for(std::int64_t offset) const noexcept;
    [[nodiscard]] bool is_done(std::int64_t offset) const noexcept;

    /// Passes all offsets below `offset`. Passed offsets without a record are holes, which count as done.
    /// Needs has_room_for(offset).
    void pass_to(std::int64_t offset);
    /// Passes a record: pass_to(offset), and then the offset itself, which is not done yet. Returns false if
    /// the offset has been passed before, or is done already. Needs has_room_for(offset).
    [[nodiscard]] bool open(std::int64_t offset);
    /// Marks an offset that open() has passed. Advances the watermark.
    void finish(std::int64_t offset);

    /// Returns the watermark and the done offsets above it, for a commit.
    [[nodiscard]] done_offsets done() const;

private:
    [[nodiscard]] bool bit(std::int64_t offset) const noexcept;
    void set(std::int64_t offset) noexcept;
    void advance() noexcept;

    std::vector<std::uint64_t> words_; // a ring: the bit of an offset is offset modulo the number of bits
    const std::uint64_t mask_;
    const std::int64_t window_;
    std::int64_t watermark_ = -1;
    std::int64_t end_ = -1;
    std::int64_t restored_end_ = -1; // done offsets of an earlier commit can be up to here, above end_
};

} // namespace ekiden::inline EKIDEN_ABI::kafka::detail
