/// The options of a worker_core. The public options of a worker have been checked before.
///
/// Part: kafka. Used by: worker_core, commit_cycle, the driver. Private.
#pragma once

#include <ekiden/kafka/detail/partition_ledger.hpp>
#include <ekiden/records/retry_options.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ekiden::inline EKIDEN_ABI::kafka::detail {

struct core_options {
    std::string topic;
    std::string id;               ///< the place of the worker, for messages: its transactional.id
    bool is_transactional = true; ///< exactly once. Otherwise at least once.
    ledger_limits limits;
    std::chrono::milliseconds commit_every{100};
    std::chrono::milliseconds revoke_limit{30'000};      ///< how long running functions are waited for
    std::chrono::milliseconds transaction_limit{10'000}; ///< how long a retriable call is repeated
    std::chrono::milliseconds call_back_off{100};        ///< between repeats of a call
    records::retry_options retry;
    /// False for consumer commits of librdkafka before 2.10: no commit between a revocation and the next
    /// assign callback. Then the last commit of a revoked partition is left out.
    bool commits_in_rebalance = true;
};

/// The topic with the parked keys: a compacted topic. Its records have the key parked_key() and the offset of
/// the first parked record as the value. A tombstone frees the key.
[[nodiscard]] std::string parked_topic(const core_options& of);
/// Returns the key of a record in the parked topic: topic, partition and key, with a separator.
[[nodiscard]] std::string parked_key(std::string_view topic, std::int32_t partition, std::string_view key);
/// A parked key, read from the key of a record in the parked topic.
struct parked_name {
    std::string topic;
    std::int32_t partition = 0;
    std::string key;
};
/// Reads the key of a record in the parked topic. Returns an empty optional for a foreign record.
[[nodiscard]] std::optional<parked_name> read_parked_key(std::string_view text);

} // namespace ekiden::inline EKIDEN_ABI::kafka::detail
