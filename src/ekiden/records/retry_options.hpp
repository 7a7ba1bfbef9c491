/// What a worker does after a function has thrown.
///
/// Part: records. Used by: programs, the engines `kafka` and `postgres`.
#pragma once

#include <ekiden/sys/config.hpp>

#include <chrono>
#include <cstdint>
#include <string>

namespace ekiden::inline EKIDEN_ABI::records {

/// What happens to a record whose function has failed in all attempts.
enum class on_failure : std::uint8_t {
    /// The worker continues to retry. Later records of the key wait. Other keys continue.
    stop,
    /// The record goes to the topic of dead letters. The key continues with its next record, so the order of
    /// the key is broken knowingly.
    dead_letter,
    /// The record and all later records of its key go to the topic of dead letters, in their order. The set
    /// of
    /// these keys is durable.
    park_key,
};

/// The options for a function that throws. The key of the record waits during a retry. Other keys continue.
struct retry_options {
    unsigned attempts = 5;                ///< The number of calls before `then` decides. At least 1.
    std::chrono::milliseconds delay{100}; ///< The time before the first retry. Doubles with each retry.
    std::chrono::milliseconds longest_delay{10'000}; ///< the maximum time before a retry
    on_failure then = on_failure::stop;              ///< what happens after the last attempt
    std::string dead_letters = {}; ///< The topic of dead letters. Required unless `then` is `stop`.
};

} // namespace ekiden::inline EKIDEN_ABI::records
