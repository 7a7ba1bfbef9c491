/// What both engines do with a record whose function has failed: the delay of a retry, and the dead letter.
///
/// Part: records. Used by: the engines `kafka` and `postgres`. Private.
#pragma once

#include <ekiden/records/request.hpp>
#include <ekiden/records/retry_options.hpp>

#include <algorithm>
#include <chrono>
#include <string>
#include <string_view>
#include <utility>

namespace ekiden::inline EKIDEN_ABI::records::detail {

/// The delay before the next call of a function that has failed `attempt` times. Needs a longest delay of at
/// most 24 h.
[[nodiscard]] inline std::chrono::milliseconds delay_after(unsigned attempt, const retry_options& chosen) {
    std::chrono::milliseconds delay = chosen.delay;
    while (attempt-- > 1 && delay.count() != 0 && delay < chosen.longest_delay) delay *= 2;
    return std::min(delay, chosen.longest_delay);
}

/// Adds the headers that tell where a dead letter comes from, and why.
inline void add_origin(headers& with, const position& of, unsigned attempts, std::string_view error) {
    with.push_back({"ekiden-topic", of.topic});
    with.push_back({"ekiden-partition", std::to_string(of.partition)});
    with.push_back({"ekiden-offset", std::to_string(of.offset)});
    with.push_back({"ekiden-attempts", std::to_string(attempts)});
    with.push_back({"ekiden-error", std::string(error)});
}

} // namespace ekiden::inline EKIDEN_ABI::records::detail
