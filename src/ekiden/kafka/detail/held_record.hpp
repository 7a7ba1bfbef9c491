/// A record that a worker holds: from its arrival until it is done and its outputs are committed.
///
/// Part: kafka. Used by: partition_ledger, key_queues, worker_core, the driver. Private.
#pragma once

#include <ekiden/records/request.hpp>
#include <ekiden/sys/atomic.hpp>
#include <ekiden/sys/clock.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ekiden::inline EKIDEN_ABI::kafka::detail {

class partition_ledger;

/// A record as the driver has fetched it. `payload` owns the bytes of the key and of the value. The core
/// returns the payload with broker_link::release().
struct fetched_record {
    std::int64_t offset = 0;
    std::int64_t timestamp = -1; ///< in ms since 1970, or -1
    std::string_view key;
    std::string_view value;
    bool has_key = true;
    bool has_value = true;
    void* payload = nullptr;
    records::headers with;
};

/// Where a record is. Two threads decide with one atomic exchange whether a queued record begins: the thread
/// of its lane, or the polling thread, which gives the record up.
enum class record_phase : std::uint8_t {
    idle,    ///< The core has the record: it waits for its window, for its key, or for a retry.
    queued,  ///< The record is in its lane.
    running, ///< Its function runs.
    dropped, ///< The record was given up while it was in its lane. The lane returns it.
    done,    ///< The function has succeeded. The outputs wait for a commit.
};

/// What a function has left behind.
enum class record_end : std::uint8_t {
    done,    ///< The function has succeeded, or the record is a dead letter now.
    failed,  ///< The function has thrown and runs again after a delay.
    dropped, ///< The partition is no longer ours, so the result has no effect.
};

/// A record that a worker holds. Its memory is reused, so that a record needs no allocation.
///
/// The polling thread owns all members, except between broker_link::start() and worker_core::ended(). In this
/// time, the thread that runs the function owns `attempt`, `error`, `outputs` and `end`.
class held_record {
public:
    records::position id;
    std::int64_t timestamp = -1;
    std::string_view key;
    std::string_view value;
    bool has_key = true;
    bool has_value = true;
    bool leads_key = false; ///< Later records of its key wait for this record, see key_queues.
    bool is_dead_letter = false;
    record_end end = record_end::done;
    records::headers with;
    void* payload = nullptr;
    unsigned attempt = 0;  ///< number of calls of the function so far
    unsigned refusals = 0; ///< number of commits that have failed because the brokers have refused an output
    partition_ledger* ledger = nullptr;
    std::vector<records::outgoing> outputs; ///< stay here until a commit that has them has succeeded
    std::string error;                      ///< of the last attempt
    std::size_t further_bytes = 0;          ///< of the headers, and of the outputs that wait for a commit
    sys::atomic<record_phase> phase{record_phase::idle};
    sys::clock::time_point arrived; ///< when the worker has received it
    // `next` links the ended records, or the unused ones. `older` and `newer` link the records of a ledger.
    held_record* next = nullptr;
    held_record* older = nullptr;
    held_record* newer = nullptr;
    bool is_carried = false; // whether a commit has its outputs

    /// Returns the argument of the function. The record must outlive it.
    [[nodiscard]] records::request request() const;
    /// Returns the bytes that count for the memory bound.
    [[nodiscard]] std::size_t bytes() const noexcept { return key.size() + value.size() + further_bytes; }
};

} // namespace ekiden::inline EKIDEN_ABI::kafka::detail
