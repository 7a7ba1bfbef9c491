/// The recorded choices of one simulation. A replay of the choices gives the same run.
///
/// Part: sim. Used by: the simulation, explore. The simulation records and replays a tape, and explore
/// shrinks it. A tape is modeled on the byte stream of the test library Hypothesis (MacIver and Donaldson,
/// "Test-Case Reduction via Test-Case Generation", 2020).
#pragma once

#include <ekiden/sim/fault.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ekiden::inline EKIDEN_ABI::sim {

/// The subject of a choice: the schedule, a fault, or the data of the test. Each subject has a stream of its
/// own, so that a change in one stream does not shift the choices in other streams.
enum class stream : std::uint8_t { schedule, faults, data };
inline constexpr std::size_t streams = 3;

/// A choice of one of `range` values. The value 0 is always the dull choice. The dull choices are the oldest
/// task, no fault, and no delay.
struct choice {
    std::uint32_t range = 1;
    std::uint32_t value = 0;
    fault kind = fault::late_task; ///< The kind of fault, if the choice is about a fault.

    friend bool operator==(const choice&, const choice&) = default;
};

/// The recorded choices of a run. All choices after the end of a tape are 0. If a value is outside its range,
/// the replay uses the value modulo the range.
struct tape {
    /// The kinds of faults that are on. The tape has a choice for each place where a fault of these kinds may
    /// occur.
    fault_set faults;
    std::array<std::vector<choice>, streams> choices;

    [[nodiscard]] std::vector<choice>& of(stream s) noexcept { return choices[static_cast<std::size_t>(s)]; }
    [[nodiscard]] const std::vector<choice>& of(stream s) const noexcept {
        return choices[static_cast<std::size_t>(s)];
    }

    /// Returns the number of choices that are not dull.
    [[nodiscard]] std::size_t weight() const noexcept;
    /// Removes dull choices from the end of the tape. This does not change the meaning of the tape.
    void trim() noexcept;

    /// Returns the tape as one line without blanks. The text does not contain the ranges of the choices.
    [[nodiscard]] std::string text() const;
    /// Returns the tape for a text that text() has returned. Throws std::invalid_argument if the text is not
    /// valid.
    [[nodiscard]] static tape parse(std::string_view text);

    friend bool operator==(const tape&, const tape&) = default;
};

} // namespace ekiden::inline EKIDEN_ABI::sim
