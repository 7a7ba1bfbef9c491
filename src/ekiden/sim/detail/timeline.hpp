/// What happened in a simulation, step by step: to be read, and to be compared with another run.
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
    std::uint8_t depth;  ///< steps in the middle of which this one came
    std::uint32_t chain; ///< of a task
    std::int64_t time;   ///< since the beginning of the simulation, in ns
    const char* what;    ///< a type_description() of a task; or the name of a coroutine,
    const char* file;    ///< then where its latest await stands; null: a task
    std::uint32_t line;
    const char* where; ///< the context
    std::string text = {};

    friend bool operator==(const step&, const step&) = default;
};

/// "1.5 ms" and the like.
[[nodiscard]] std::string time_text(std::int64_t ns);

class timeline {
public:
    void add(step&& one) { steps_.push_back(std::move(one)); }
    [[nodiscard]] std::size_t size() const noexcept { return steps_.size(); }

    /// The last `most` steps, a line each.
    [[nodiscard]] std::string text(std::size_t most) const;
    /// The first step that differs, as both have it; empty if there is none.
    [[nodiscard]] std::string first_difference(const timeline& other) const;

private:
    [[nodiscard]] std::string line(std::size_t i) const;

    std::vector<step> steps_;
};

} // namespace ekiden::inline EKIDEN_ABI::sim
