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
    /// The record goes to the topic of dead letters. A record without a key stays without a key. The key
    /// continues with its next record, so the order of
    /// the key is broken knowingly.
    dead_letter,
    /// The record and all later records of its key go to the topic of dead letters, in their order. The set
    /// of these keys is durable.
    park_key,
};

/// The options for a function that throws. The key of the record waits during a retry. Other keys continue.
struct retry_options {
    /// The number of calls before `then` decides. At least 1, and in PostgreSQL at most 1,000,000. In
    /// PostgreSQL, a call does not count if it fails behind another record of its key in its transaction, or
    /// because of a conflict between transactions (SQLSTATE 40...). After the second conflict of a record,
    /// its delay grows like the delay of a retry.
    unsigned attempts = 5;
    /// The time before the first retry, which doubles with each retry. From 0 ms to 24 h.
    std::chrono::milliseconds delay{100};
    /// The maximum time before a retry. From `delay` to 24 h.
    std::chrono::milliseconds longest_delay{10'000};
    on_failure then = on_failure::stop; ///< what happens after the last attempt
    /// The topic of dead letters, which is a queue in PostgreSQL. It must not be the queue of the worker.
    /// Required unless `then` is `stop`. A queue in PostgreSQL with parked keys always needs it.
    std::string dead_letters = {};
};

} // namespace ekiden::inline EKIDEN_ABI::records
