/// Runs one model as the command line requests, judges the result, and formats it.
///
/// Part: check (driver).
#pragma once

#include <check/engine/explorer.hpp>

#include <cstdint>
#include <string>

namespace ekiden::check {

struct effort {
    double seconds = 30;           ///< time limit of the depth-first search of one model
    unsigned more = 0;             ///< added to the bounds in the model's options
    std::uint64_t random = 20'000; ///< number of random executions after that
};

/// The outcome of one model, small enough to pass through a pipe.
struct verdict {
    bool good = false;
    std::uint64_t executions = 0;
    double seconds = 0;
    std::string text; ///< one line; after a failure, also the table of the execution
};

[[nodiscard]] std::string full_name(const model& m);
[[nodiscard]] verdict judge(const model& m, const effort& how);
[[nodiscard]] verdict judge_replay(const model& m, std::string_view text);

[[nodiscard]] std::string pack(const verdict& v);
[[nodiscard]] verdict unpack(const std::string& text);

} // namespace ekiden::check
