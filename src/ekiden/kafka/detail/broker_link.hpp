/// The interface between the logic of a worker and the outside: a driver on librdkafka, or a simulation.
///
/// Part: kafka. Used by: worker_core, the driver, the simulation. Private. The page worker.md explains the
/// protocol.
#pragma once

#include <ekiden/kafka/detail/held_record.hpp>
#include <ekiden/records/record.hpp>
#include <ekiden/sys/atomic.hpp>
#include <ekiden/sys/clock.hpp>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace ekiden::inline EKIDEN_ABI::kafka::detail {

/// The metadata of a consumer group in one generation. The core stores it with the ownership of the
/// partitions, and passes it to the commits of this generation. Only the driver knows its type.
using group_token = std::shared_ptr<const void>;

/// The result of a call. Except `succeeded`, these are the four classes of errors of librdkafka.
enum class outcome : std::uint8_t {
    succeeded,
    retriable, ///< The same call can be repeated.
    abortable, ///< The transaction must be aborted. Then the next one can begin.
    fatal,     ///< The producer cannot be used any more. An error without a class is fatal, too.
    fenced,    ///< Another process uses the same id. The worker ends.
};

struct call_result {
    outcome what = outcome::succeeded;
    /// The call may have been repeated inside librdkafka: it took longer than socket.timeout.ms, or a broker
    /// went down meanwhile. Before the next transaction, the core asks for a new producer.
    bool wants_new_producer = false;
    /// For commits that did not succeed and are not transactions: all brokers have the outputs. Then only the
    /// offsets are committed again.
    bool outputs_sent = false;
    std::string error; ///< for messages
    /// For commits that did not succeed: the brokers refuse outputs to this topic, for example because the
    /// topic does not exist. Empty if the reason is another one.
    std::string refused_topic = {};
};

/// The part of a commit that belongs to one partition.
struct commit_part {
    std::int32_t partition = 0;
    std::uint64_t epoch = 0;
    std::int64_t offset = 0;           ///< the offset to commit: all records below it are done
    std::string metadata;              ///< at most 4,096 bytes
    std::uint64_t finished = 0;        ///< for the ledger: the number of records that were done
    std::vector<held_record*> carried; ///< Their outputs belong to this commit. In the order of offsets.
};

/// What one commit or one transaction contains. The core owns the batch and the records until the core has
/// been told the result. The driver must not change the batch.
struct commit_batch {
    std::uint64_t number = 0;
    group_token group; ///< of the generation in which the batch was taken
    std::vector<commit_part> parts;
    bool is_last = false; ///< These partitions are being revoked, and this is their last commit.
    /// True when a partition of the batch has been lost. Then the driver makes no further call for the batch,
    /// except the call that is running, and reports `abortable`. Any thread may read it.
    sys::atomic<bool> is_void{false};
    sys::clock::time_point give_up; ///< After this time, a retriable call is not repeated.
};

/// The outside of a worker_core.
///
/// The core calls these functions only from its own functions, in the polling thread, and holds no lock
/// meanwhile. Exception: wake(), which any thread may call. No function may block, and no function may call
/// the core, except that start() may call begin() and ended() of the core. The answers arrive later, as calls
/// of the core in the polling thread.
class broker_link {
public:
    /// Reads the committed offset, its metadata, and the parked keys of the partition if keys can be parked.
    /// The read waits for pending transactions (stable offsets) and then reads the parked keys. The answer is
    /// worker_core::loaded() or load_failed(), with the same epoch.
    virtual void load(std::int32_t partition, std::uint64_t epoch) = 0;
    /// Puts the records into the lanes of their keys, in this order. Each lane calls begin() of the core for
    /// the record, and runs the function if begin() returns true. When the function has ended, the lane calls
    /// ended() and then continues with its next record.
    virtual void start(std::span<held_record* const> ready) = 0;
    /// Frees the bytes of a record.
    virtual void release(void* payload) noexcept = 0;

    /// Begins a transaction, sends the outputs and the offsets, and commits. Without transactions: sends the
    /// outputs, waits until all in-sync replicas have them, and commits the offsets. The answer is
    /// commit_ended().
    virtual void commit(commit_batch& batch) = 0;
    /// Repeats the call of commit() or abort() that was retriable, with the same arguments, and continues
    /// from there. The answer is commit_ended() or abort_ended().
    virtual void repeat(commit_batch& batch) = 0;
    /// Aborts the transaction of the batch. The answer is abort_ended().
    virtual void abort(commit_batch& batch) = 0;
    /// Destroys the producer, if there is one, and makes a new one with the same id: init_transactions ends
    /// the transactions of the old one. Without transactions, a new producer is made without an id. The
    /// answer is producer_ready().
    virtual void renew_producer() = 0;

    /// Finishes a revocation or a loss: these partitions are given back to the group. Nothing arrives for
    /// them any more.
    virtual void unassign(std::span<const std::int32_t> partitions) = 0;
    /// Makes the polling thread call tick() soon. Any thread may call it.
    virtual void wake() noexcept = 0;

protected:
    ~broker_link() = default;
};

} // namespace ekiden::inline EKIDEN_ABI::kafka::detail
