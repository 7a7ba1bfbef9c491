/// What a worker that handles records has done, and what it does now.
///
/// Part: records. Used by: programs, the engines `kafka` and `postgres`.
#pragma once

#include <ekiden/observe/histogram_snapshot.hpp>
#include <ekiden/observe/prometheus.hpp>
#include <ekiden/sys/config.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ekiden::inline EKIDEN_ABI::records {

/// The state of a partition in a worker. A queue in PostgreSQL counts as one partition, which is running.
enum class partition_state : std::uint8_t {
    loading,  ///< The worker reads what earlier workers have committed.
    running,  ///< Functions begin.
    revoking, ///< No function begins. The worker waits for running functions, and then commits a last time.
    lost,     ///< Another worker owns the partition. This worker commits nothing.
};

/// The reason why a worker receives no records of a partition at the moment.
enum class pause_reason : std::uint8_t {
    none,   ///< The worker receives records.
    count,  ///< The worker holds as many records as the options allow.
    bytes,  ///< The worker holds as many bytes as the options allow.
    window, ///< The oldest unfinished record is too far behind the newest one.
    state,  ///< The partition is not running.
};

/// The progress of one partition.
struct partition_metrics {
    std::string topic;          ///< the topic of Kafka, or the name of the queue in PostgreSQL
    std::int32_t partition = 0; ///< the partition of the topic; 0 in PostgreSQL
    partition_state state = partition_state::running; ///< what the worker does with the partition
    pause_reason paused = pause_reason::none;         ///< why the worker receives no records
    /// PostgreSQL: the number of records that are not done. Kafka: the number of offsets from the oldest
    /// record that is not done to the end of the partition, which includes later records that are done. -1 if
    /// the number is unknown.
    std::int64_t lag = -1;
    std::size_t held = 0;                  ///< number of records in memory
    std::size_t held_bytes = 0;            ///< bytes of these records
    std::size_t running = 0;               ///< number of records whose function runs
    std::size_t retrying = 0;              ///< number of keys that wait for a retry
    std::size_t parked = 0;                ///< number of keys whose records go to the topic of dead letters
    std::int64_t oldest_offset = -1;       ///< offset of the oldest record that is not done, or -1
    std::string oldest_key;                ///< its key
    std::chrono::nanoseconds oldest_age{}; ///< time since the worker has received it
    std::string hot_key;                   ///< the key with the most records behind a retry, if there is one
    std::size_t hot_key_held = 0;          ///< number of these records, including the retried one
};

/// Counters of a worker since its construction, and the progress of its partitions.
struct worker_metrics {
    std::vector<partition_metrics> partitions; ///< the partitions that the worker has now
    std::uint64_t done = 0;                    ///< number of records whose function has succeeded
    std::uint64_t retries = 0;                 ///< number of calls after the first call for a record
    std::uint64_t dead_letters = 0; ///< number of records that were sent to the topic of dead letters
    /// The number of records that were done, but whose commit has failed or was not allowed. Another worker
    /// handles them again.
    std::uint64_t repeated = 0;
    /// The number of records that were received, but given up: the function did not run, or its result has no
    /// effect. Always 0 in PostgreSQL.
    std::uint64_t given_up = 0;
    /// The number of successful commits or transactions. PostgreSQL: the number of transactions that have
    /// removed records from the queue, because they were done or became dead letters.
    std::uint64_t commits = 0;
    std::uint64_t aborts = 0;     ///< number of transactions that were rolled back
    std::uint64_t fenced = 0;     ///< number of refusals because another worker has taken over
    std::uint64_t reconnects = 0; ///< number of new connections or producers after an error
    std::uint64_t rebalances = 0; ///< number of changes of the set of partitions
    /// The time from the receipt of a record to the end of its function, in ns. PostgreSQL: the time of the
    /// transaction of the record.
    histogram_snapshot in_lanes;
};

/// Returns the name of a state, such as "running".
[[nodiscard]] std::string_view name_of(partition_state state) noexcept;
/// Returns the name of a reason, such as "window", or an empty text for `none`.
[[nodiscard]] std::string_view name_of(pause_reason reason) noexcept;

/// Adds the metrics of a worker to a page. The names of the metrics begin with "ekiden_worker_". Each metric
/// has the label worker="<worker>". The metrics of a partition also have the labels topic and partition.
/// Throws std::bad_alloc.
void add_metrics(prometheus_page& to, const worker_metrics& of, std::string_view worker);

} // namespace ekiden::inline EKIDEN_ABI::records
