/// The choices of one simulation, as they were made: whoever plays them again gets the same run.
///
/// Part: sim. Used by: the simulation (records, plays), explore (shrinks), reports (as text). After the byte
/// stream of Hypothesis (D. MacIver, A. Donaldson, "Test-Case Reduction via Test-Case Generation", 2020).
#pragma once

#include <ekiden/sim/fault.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ekiden::inline EKIDEN_ABI::sim {

/// What a choice is about. Each has a tape of its own, so that a change of one leaves the others where they
/// are.
enum class stream : std::uint8_t { schedule, faults, data };
inline constexpr std::size_t streams = 3;

/// One of `range` values. 0 is always the dull one: the oldest first, no fault, no delay.
struct choice {
    std::uint32_t range = 1;
    std::uint32_t value = 0;
    fault kind = fault::late_task; ///< of a choice of faults

    friend bool operator==(const choice&, const choice&) = default;
};

/// A tape that ends goes on with 0; a value beyond its range is taken modulo.
struct tape {
    fault_set faults; ///< those that are on: where they could be, there is a choice
    std::array<std::vector<choice>, streams> choices;

    [[nodiscard]] std::vector<choice>& of(stream s) noexcept { return choices[static_cast<std::size_t>(s)]; }
    [[nodiscard]] const std::vector<choice>& of(stream s) const noexcept {
        return choices[static_cast<std::size_t>(s)];
    }

    /// How many choices are not dull.
    [[nodiscard]] std::size_t weight() const noexcept;
    /// Takes the dull choices at the end away: the tape stays the same.
    void trim() noexcept;

    /// One line without blanks. The ranges are not in it.
    [[nodiscard]] std::string text() const;
    /// The reverse. Throws std::invalid_argument.
    [[nodiscard]] static tape parse(std::string_view text);

    friend bool operator==(const tape&, const tape&) = default;
};

} // namespace ekiden::inline EKIDEN_ABI::sim
