/// The two samples of a dump. A dump writes the objects that are the same in both samples.
///
/// Part: execution. Used by: pools, and services that take part in a dump. This header is private.
#pragma once

#include <ekiden/sys/raw_output.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

namespace ekiden::inline EKIDEN_ABI::detail {

/// The first sample notes a fingerprint of each object. The second sample finds the objects whose fingerprint
/// is the same. An object of this class is small enough for the stack of a signal handler.
class dump_samples {
public:
    /// What a call of note() means for the object.
    enum class found : std::uint8_t { noted, same, other, too_many };

    explicit dump_samples(sys::raw_output& out) noexcept : out_(out) {}

    [[nodiscard]] bool is_second() const noexcept { return is_second_; }
    void begin_second() noexcept { is_second_ = true; }
    [[nodiscard]] sys::raw_output& out() noexcept { return out_; }

    /// In the first sample, notes the fingerprint. In the second sample, returns whether the first sample has
    /// noted the same fingerprint. Returns `too_many` if the first sample had no room for all
    /// fingerprints, and has not noted this fingerprint.
    [[nodiscard]] found note(std::uint64_t fingerprint) noexcept {
        if (!is_second_) {
            if (count_ == seen_.size()) {
                is_full_ = true;
                return found::too_many;
            }
            seen_[count_++] = fingerprint;
            return found::noted;
        }
        for (std::size_t i = 0; i != count_; ++i)
            if (seen_[i] == fingerprint) return found::same;
        return is_full_ ? found::too_many : found::other;
    }

private:
    sys::raw_output& out_;
    std::array<std::uint64_t, 128> seen_;
    std::size_t count_ = 0;
    bool is_second_ = false;
    bool is_full_ = false;
};

} // namespace ekiden::inline EKIDEN_ABI::detail
