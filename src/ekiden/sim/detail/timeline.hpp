/// The steps of a simulation, to print them and to compare them with another run.
///
/// Part: sim. Used by: the simulation (writes), explore (compares, prints). Private.
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
    std::uint8_t depth;  ///< number of steps that are interrupted by this one
    std::uint32_t chain; ///< the chain of a task
    std::int64_t time;   ///< since the start of the simulation, in ns
    const char* what;    ///< the type_description() of a task, or the name of a coroutine
    const char* file;    ///< the file of the coroutine's latest await; null for a task
    std::uint32_t line;
    const char* where; ///< name of the context
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
    /// Returns the first step that differs, from both timelines. Empty if there is none.
    [[nodiscard]] std::string first_difference(const timeline& other) const;

private:
    [[nodiscard]] std::string line(std::size_t i) const;

    std::vector<step> steps_;
};

} // namespace ekiden::inline EKIDEN_ABI::sim
