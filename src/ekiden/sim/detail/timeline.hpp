/// The recorded steps of a simulation. A timeline can be printed, and compared with the timeline of another
/// run.
///
/// Part: sim. Used by: the simulation, explore. Private.
#pragma once

#include <ekiden/sys/config.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace ekiden::inline EKIDEN_ABI::sim {

enum class step_kind : std::uint8_t { task, time, fault, note, dropped };

struct step {
    step_kind kind;
    std::uint8_t depth;  ///< Number of steps that this step interrupts.
    std::uint32_t chain; ///< The chain of a task.
    std::int64_t time;   ///< The time since the start of the simulation, in ns.
    const char* what;    ///< The type_description() of a task, or the name of a coroutine.
    const char* file;    ///< The file of the coroutine's latest await. The pointer is null for a task.
    std::uint32_t line;
    const char* where; ///< Name of the context.
    std::string text = {};

    friend bool operator==(const step&, const step&) = default;
};

/// Returns a time as text, such as "1.5 ms".
[[nodiscard]] std::string time_text(std::int64_t ns);

class timeline {
public:
    void add(step&& one) { steps_.push_back(std::move(one)); }
    [[nodiscard]] std::size_t size() const noexcept { return steps_.size(); }

    /// Returns the last `most` steps, one per line.
    [[nodiscard]] std::string text(std::size_t most) const;
    /// Returns a text that shows the first different step of both timelines. The text is empty if the
    /// timelines are equal.
    [[nodiscard]] std::string first_difference(const timeline& other) const;

private:
    [[nodiscard]] std::string line(std::size_t i) const;

    std::vector<step> steps_;
};

} // namespace ekiden::inline EKIDEN_ABI::sim
