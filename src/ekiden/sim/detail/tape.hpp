/// The recorded choices of one simulation. Replaying them gives the same run.
///
/// Part: sim. Used by: the simulation (records, replays), explore (shrinks), reports (as text). Modeled on
/// the byte stream of Hypothesis (D. MacIver, A. Donaldson, "Test-Case Reduction via Test-Case Generation",
/// 2020).
#pragma once

#include <ekiden/sim/fault.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ekiden::inline EKIDEN_ABI::sim {

/// The subject of a choice. Each subject has its own stream, so that a change in one stream does not shift
/// the others.
enum class stream : std::uint8_t { schedule, faults, data };
inline constexpr std::size_t streams = 3;

/// A choice of one of `range` values. The value 0 is always the dull one: the oldest task, no fault, no
/// delay.
struct choice {
    std::uint32_t range = 1;
    std::uint32_t value = 0;
    fault kind = fault::late_task; ///< for a choice about faults

    friend bool operator==(const choice&, const choice&) = default;
};

/// After the end of a tape, all choices are 0. A value outside its range is taken modulo the range.
struct tape {
    fault_set faults; ///< the faults that are on; each place where one may occur has a choice
    std::array<std::vector<choice>, streams> choices;

    [[nodiscard]] std::vector<choice>& of(stream s) noexcept { return choices[static_cast<std::size_t>(s)]; }
    [[nodiscard]] const std::vector<choice>& of(stream s) const noexcept {
        return choices[static_cast<std::size_t>(s)];
    }

    /// Returns the number of choices that are not dull.
    [[nodiscard]] std::size_t weight() const noexcept;
    /// Removes dull choices from the end. That does not change the meaning of the tape.
    void trim() noexcept;

    /// Returns the tape as one line without blanks. The ranges are omitted.
    [[nodiscard]] std::string text() const;
    /// Parses the result of text(). Throws std::invalid_argument.
    [[nodiscard]] static tape parse(std::string_view text);

    friend bool operator==(const tape&, const tape&) = default;
};

} // namespace ekiden::inline EKIDEN_ABI::sim
