/// The logic of a worker, without Kafka: assignments, records, retries, commits. It calls the outside through
/// a broker_link, has no thread, and never blocks.
///
/// Part: kafka. Used by: the driver of kafka::worker, the simulation in tests/unit/sim_kafka. Private. The
/// page worker.md explains the protocol.
#pragma once

#include <ekiden/kafka/detail/broker_link.hpp>
#include <ekiden/kafka/detail/commit_cycle.hpp>
#include <ekiden/kafka/detail/core_options.hpp>
#include <ekiden/kafka/detail/ended_list.hpp>
#include <ekiden/kafka/detail/partition_ledger.hpp>
#include <ekiden/observe/detail/histogram.hpp>
#include <ekiden/records/request.hpp>
#include <ekiden/records/worker_metrics.hpp>
#include <ekiden/sync/mutex.hpp>
#include <ekiden/sys/clock.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace ekiden::inline EKIDEN_ABI::kafka::detail {

/// The answer to broker_link::load().
struct loaded_offset {
    std::int32_t partition = 0;
    std::uint64_t epoch = 0;
    std::int64_t offset = -1; ///< the committed offset, or -1 if there is none
    std::string metadata;
    std::vector<std::string> parked; ///< the parked keys of this partition
};

/// Thread safety: one thread, the polling thread, calls all members except begin(), ended(), metrics() and
/// the members that say otherwise. Another thread may take the place of the polling thread if the calls are
/// ordered, as by a mutex.
///
/// Before the destructor, all records must have been returned by ended(): in_lanes() is 0.
class worker_core {
public:
    /// The options must have been checked. The link must outlive the core.
    worker_core(core_options chosen, broker_link& outside);
    ~worker_core();
    worker_core(const worker_core&) = delete;
    worker_core& operator=(const worker_core&) = delete;

    // ---- the polling thread: time

    /// Asks for the first producer. The driver joins the group after producer_ready() has succeeded, because
    /// the new producer ends the transactions that an earlier process with the same id has left.
    void start();

    /// Handles ended records, retries, commits and limits. Call it after each batch of arrived records, when
    /// wake() has been called, and at the returned time.
    sys::clock::time_point tick(sys::clock::time_point now);

    // ---- the polling thread: the group

    /// The assign callback. `group` is the group's metadata in the new generation. The partitions are the new
    /// ones. There can be none.
    void assigned(group_token group, std::int32_t generation, std::span<const std::int32_t> partitions);
    /// The revoke callback. When the partitions have been drained and committed, the core calls unassign().
    /// The call can come before this function has returned. If there are no partitions, unassign() is called,
    /// too.
    void revoked(group_token group, std::int32_t generation, std::span<const std::int32_t> partitions);
    /// The revoke callback of partitions that are lost. The core commits nothing and calls unassign() as soon
    /// as no commit that names the partitions is in progress.
    void lost(std::span<const std::int32_t> partitions);

    // ---- the polling thread: records

    /// The answer to broker_link::load().
    void loaded(const loaded_offset& answer);
    /// load() has failed. The core repeats it, unless the failure is fatal.
    void load_failed(std::int32_t partition, std::uint64_t epoch, const call_result& why);
    /// Returns how many records the driver may fetch from this partition now. 0 if it has no room, is not
    /// running, or is unknown.
    [[nodiscard]] std::size_t room(std::int32_t partition) const;
    /// Accepts records of a partition, in the order of their offsets. There should be at most room() of them.
    /// Takes all payloads. Records of a partition that is not running are released.
    void arrived(std::int32_t partition, std::span<fetched_record> batch);
    /// The fetch position of the partition is `position`: all offsets below it have been delivered by
    /// arrived(), or do not exist. Call it at the end of the partition, so that holes at the end are passed.
    void passed(std::int32_t partition, std::int64_t position);
    /// The end of the log of a partition, for the lag.
    void log_end(std::int32_t partition, std::int64_t offset);

    // ---- the polling thread: answers of the link. An answer for another batch than the current one is
    // ignored.

    void producer_ready(const call_result& result);
    void commit_ended(std::uint64_t batch, const call_result& result);
    void abort_ended(std::uint64_t batch, const call_result& result);

    // ---- the polling thread: the end

    /// Accepts no more records, waits for the running functions until `limit`, and commits a last time.
    void close(sys::clock::time_point limit);
    /// After close(): returns whether no function runs and the last commit has ended. Then the driver leaves
    /// the group.
    [[nodiscard]] bool is_closed() const;
    /// Returns whether all that was done before close() is committed, and no function was given up.
    [[nodiscard]] bool has_closed_cleanly() const;
    /// Returns the number of records in lanes. When the group has been left and this is 0, the core can be
    /// destroyed.
    [[nodiscard]] std::size_t in_lanes() const;
    /// Returns the error that ended the worker: it was fenced, or an error that nothing can mend. Then the
    /// driver ends: it calls lost() for all partitions, and waits until in_lanes() is 0.
    [[nodiscard]] const std::optional<std::string>& failure() const noexcept;
    /// Ends the worker with this error, for example after a fatal error of the consumer.
    void fail(const std::string& why);

    // ---- the lanes, in any thread

    /// A lane asks whether it may run the function of a record. If it returns false, the record belongs to
    /// the core again, and the lane continues.
    [[nodiscard]] bool begin(held_record& r);
    /// The function has succeeded. The record belongs to the core again.
    void ended(held_record& r, records::reply&& outputs);
    /// The executor has dropped the task of the record, before or after begin(). The record belongs to the
    /// core again and is not done. The worker should end, because the partition cannot continue.
    void abandoned(held_record& r);
    /// The function has failed with this text. The record belongs to the core again. Later records of the key
    /// wait, or run, as the options say.
    void ended(held_record& r, std::string_view error);

    // ---- any thread

    /// Returns the metrics. A tick() renews them if they are 100 ms old.
    [[nodiscard]] records::worker_metrics metrics() const;

private:
    struct revocation { // an unassign() that has not been called yet
        std::vector<std::int32_t> partitions;
        // Set by the next tick(), because the time of the last tick() can be long ago.
        sys::clock::time_point limit = sys::clock::time_point::max();
    };

    [[nodiscard]] partition_ledger* find(std::int32_t partition) const noexcept;
    [[nodiscard]] partition_ledger* find_epoch(std::uint64_t epoch) const noexcept;
    [[nodiscard]] bool is_in_batch(const partition_ledger& of) const noexcept;
    [[nodiscard]] bool is_in_commit(const partition_ledger& of) const noexcept;
    [[nodiscard]] bool is_drained(const partition_ledger& of, sys::clock::time_point limit) const;
    [[nodiscard]] bool may_commit_now() const noexcept;
    [[nodiscard]] bool is_commit_urgent() const;
    void revoke(partition_ledger& ledger);
    void end_waits();
    void end_revocations();
    void give_back(partition_ledger& ledger);
    void retire_old();
    void collect();
    void repeat_loads();
    void start_ready();
    void release_all();
    void start_commit();
    void settle(partition_ledger& ledger, const loaded_offset& answer);
    void end_doubt();
    void give_back(const commit_batch& batch, bool outputs_sent);
    void refuse(const commit_batch& batch, const std::string& topic);
    void apply(batch_fate fate);
    void make_dead_letter(held_record& r) const;
    void hand_back(held_record& r, record_end how);
    void arm();
    void publish();
    [[nodiscard]] sys::clock::time_point next_time() const;

    const core_options options_;
    broker_link& link_;
    sys::clock::time_point now_{};
    group_token group_;
    std::int32_t generation_ = 0;
    std::uint64_t last_epoch_ = 0;
    std::map<std::int32_t, std::unique_ptr<partition_ledger>> ledgers_;
    std::vector<std::unique_ptr<partition_ledger>> old_; // given back, but records are in lanes
    std::vector<revocation> revocations_;
    bool is_rebalancing_ = false; // between a revocation and the next assign callback
    sys::clock::time_point next_commit_{};
    sys::clock::time_point not_before_{}; // no commit before, because the last one has failed
    std::uint64_t last_batch_ = 0;
    std::vector<std::uint64_t> asked_; // epochs whose committed offset is being read after a doubt
    commit_cycle cycle_;
    std::map<std::int32_t, sys::clock::time_point> reloads_; // loads that have failed and are repeated then
    std::map<std::int32_t, std::int64_t> log_ends_;
    bool is_closing_ = false;
    sys::clock::time_point close_limit_{};
    bool gave_up_running_ = false;

    std::vector<held_record*> ready_; // to be passed to start()
    std::vector<void*> released_;     // to be passed to release()
    ended_list ended_;

    records::worker_metrics counters_; // without the partitions
    histogram time_in_lanes_;
    mutable mutex shown_lock_;
    records::worker_metrics shown_;
    sys::clock::time_point shown_at_{};
};

} // namespace ekiden::inline EKIDEN_ABI::kafka::detail
