/// The text that a commit stores beside an offset: the set of offsets above the committed offset that are
/// done.
///
/// Part: kafka. Used by: partition_ledger. Private.
///
/// A broker accepts 4,096 bytes of metadata. A window of 24,000 offsets needs 3,000 bytes of bits and 4,016
/// characters of text, so the text of a window always fits and nothing is ever left out.
#pragma once

#include <ekiden/sys/config.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ekiden::inline EKIDEN_ABI::kafka::detail {

/// The largest distance between the watermark and the end of the window.
inline constexpr std::size_t most_window = 24'000;
/// The limit of the broker for the metadata of a committed offset, in bytes.
inline constexpr std::size_t most_metadata = 4096;

/// A set of done offsets: bit i is the offset `first` + i.
struct done_offsets {
    std::int64_t first = 0;
    std::vector<bool> bits;

    /// Returns whether the set says that this offset is done. All offsets below `first` are done.
    [[nodiscard]] bool has(std::int64_t offset) const noexcept {
        if (offset < first) return true;
        const auto at = static_cast<std::uint64_t>(offset - first);
        return at < bits.size() && bits[static_cast<std::size_t>(at)];
    }
    friend bool operator==(const done_offsets&, const done_offsets&) = default;
};

/// Returns the metadata for a commit of the offset `done.first`. The text is empty if no bit is set. At most
/// `most_window` bits are allowed.
[[nodiscard]] std::string to_metadata(const done_offsets& done);

/// Returns the done offsets for the offset and the metadata of a commit. Returns an empty optional if the
/// text is not of this format and version, or if the text belongs to another offset. Then it is unknown which
/// records are done, so the partition must not start. Empty metadata is valid: no offset above is done.
[[nodiscard]] std::optional<done_offsets> from_metadata(std::int64_t committed, std::string_view text);

} // namespace ekiden::inline EKIDEN_ABI::kafka::detail
