#include <ekiden/kafka/detail/done_window.hpp>

#include <ekiden/sys/contract.hpp>

#include <algorithm>
#include <bit>

namespace ekiden::inline EKIDEN_ABI::kafka::detail {

namespace {

// The ring holds the largest window, even if the chosen one is smaller: an earlier worker may have committed
// a larger one.
constexpr std::size_t ring_bits = std::bit_ceil(most_window);

} // namespace

done_window::done_window(std::size_t window)
    : words_(ring_bits / 64), mask_(ring_bits - 1), window_(static_cast<std::int64_t>(window)) {
    sys::expects(window >= 1 && window <= most_window, "a window has 1 to 24,000 offsets");
}

bool done_window::bit(std::int64_t offset) const noexcept {
    const std::uint64_t at = static_cast<std::uint64_t>(offset) & mask_;
    return (words_[at / 64] >> (at % 64) & 1U) != 0;
}

void done_window::set(std::int64_t offset) noexcept {
    const std::uint64_t at = static_cast<std::uint64_t>(offset) & mask_;
    words_[at / 64] |= std::uint64_t{1} << (at % 64);
}

/// Moves the watermark over all done offsets, and clears their bits.
void done_window::advance() noexcept {
    for (;;) {
        const std::uint64_t at = static_cast<std::uint64_t>(watermark_) & mask_;
        std::uint64_t& word = words_[at / 64];
        const int done = std::countr_one(word >> (at % 64));
        if (done == 0) break;
        // A shift by 64 would be undefined, so a full word is cleared separately.
        word = done == 64 ? 0 : word & ~(((std::uint64_t{1} << done) - 1) << (at % 64));
        watermark_ += done;
        if (at % 64 + static_cast<std::uint64_t>(done) != 64) break;
    }
    end_ = std::max(end_, watermark_);
}

void done_window::restore(const done_offsets& from) {
    std::fill(words_.begin(), words_.end(), 0);
    watermark_ = end_ = from.first;
    restored_end_ = from.first + static_cast<std::int64_t>(from.bits.size());
    for (std::size_t i = 0; i != from.bits.size(); ++i) {
        if (from.bits[i]) set(from.first + static_cast<std::int64_t>(i));
    }
    advance();
}

bool done_window::has_room_for(std::int64_t offset) const noexcept {
    return offset < watermark_ + window_ || watermark_ == end_;
}

bool done_window::is_done(std::int64_t offset) const noexcept {
    if (offset < watermark_) return true;
    return offset < watermark_ + static_cast<std::int64_t>(mask_) && bit(offset);
}

void done_window::pass_to(std::int64_t offset) {
    if (!has_begun()) watermark_ = end_ = offset;
    if (offset <= end_) return;
    sys::expects(has_room_for(offset - 1), "an offset is passed beyond the window");
    if (watermark_ != end_) {
        while (end_ != offset) set(end_++);
        return;
    }
    // Nothing is in work, so the watermark jumps. Bits of an earlier commit can be in between.
    if (offset - watermark_ > static_cast<std::int64_t>(mask_)) {
        std::fill(words_.begin(), words_.end(), 0);
    } else {
        for (; watermark_ != offset; ++watermark_) {
            const std::uint64_t at = static_cast<std::uint64_t>(watermark_) & mask_;
            words_[at / 64] &= ~(std::uint64_t{1} << (at % 64));
        }
    }
    watermark_ = end_ = offset;
    advance();
}

bool done_window::open(std::int64_t offset) {
    pass_to(offset);
    // The offset was passed before, or the watermark has moved over done offsets of an earlier commit.
    if (offset < end_) return false;
    end_ = offset + 1;
    return !bit(offset);
}

void done_window::finish(std::int64_t offset) {
    set(offset);
    if (offset == watermark_) advance();
}

done_offsets done_window::done() const {
    done_offsets made;
    made.first = watermark_;
    const std::int64_t last = std::max(end_, restored_end_);
    if (last > watermark_) made.bits.resize(static_cast<std::size_t>(last - watermark_));
    for (std::size_t i = 0; i != made.bits.size(); ++i)
        made.bits[i] = bit(watermark_ + static_cast<std::int64_t>(i));
    return made;
}

} // namespace ekiden::inline EKIDEN_ABI::kafka::detail
