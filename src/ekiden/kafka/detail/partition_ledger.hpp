/// The state of one partition in one assignment: its records, its done offsets, and its retries.
///
/// Part: kafka. Used by: worker_core. Private.
///
/// Each assignment has a ledger of its own, so nothing of an old assignment counts in a new one. Usually only
/// the polling thread uses a ledger.
#pragma once

#include <ekiden/kafka/detail/broker_link.hpp>
#include <ekiden/kafka/detail/commit_metadata.hpp>
#include <ekiden/kafka/detail/done_window.hpp>
#include <ekiden/kafka/detail/held_record.hpp>
#include <ekiden/kafka/detail/key_queues.hpp>
#include <ekiden/records/worker_metrics.hpp>
#include <ekiden/sys/clock.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

namespace ekiden::inline EKIDEN_ABI::kafka::detail {

enum class ledger_state : std::uint8_t {
    loading,  ///< Reads the committed offset. No function begins.
    running,  ///< Functions begin, and commits are allowed.
    refused,  ///< The metadata of the commit is unknown. No function begins, and nothing is committed.
    revoking, ///< No function begins. Running functions are waited for. Then follows the last commit.
    lost,     ///< Another worker owns the partition. Nothing is committed.
    gone,     ///< Given back to the group. Nothing is committed.
};

/// The bounds of a partition.
struct ledger_limits {
    std::size_t window = 20'000;        ///< offsets beyond the watermark, at most `most_window`
    std::size_t held = 1'000;           ///< records in memory
    std::size_t held_bytes = 16U << 20; ///< bytes of these records. One record may exceed it.
};

class partition_ledger {
public:
    partition_ledger(std::string topic, std::int32_t partition, std::uint64_t epoch,
                     const ledger_limits& limits);
    /// No record may be in a lane or in a commit.
    ~partition_ledger();
    partition_ledger(const partition_ledger&) = delete;
    partition_ledger& operator=(const partition_ledger&) = delete;

    [[nodiscard]] std::int32_t partition() const noexcept { return partition_; }
    [[nodiscard]] std::uint64_t epoch() const noexcept { return epoch_; }
    [[nodiscard]] ledger_state state() const noexcept { return state_; }
    [[nodiscard]] bool is_running() const noexcept { return state_ == ledger_state::running; }
    /// Returns whether commits may name the partition.
    [[nodiscard]] bool may_commit() const noexcept {
        return is_running() || state_ == ledger_state::revoking;
    }

    // ---- the life of the assignment

    /// Ends the state `loading`. `committed` is -1 if nothing was committed. If the metadata is unknown, the
    /// state is `refused`.
    void restore(std::int64_t committed, std::string_view metadata, std::span<const std::string> parked);
    /// Gives up all records whose functions have not begun, and requests a stop of the running functions.
    /// Appends the payloads of records that are free now to `released`.
    void drain(ledger_state next, std::vector<void*>& released);
    /// Drops all outputs, and frees all records that are not in a lane or in a commit. From now on, results
    /// of functions have no effect.
    void drop_results(std::vector<void*>& released);
    /// The running functions are no longer waited for. Their results will have no effect.
    void give_up_running() noexcept { accepts_results_ = false; }
    void set_gone() noexcept { state_ = ledger_state::gone; }

    // ---- records

    /// Accepts fetched records. Appends records that can start to `ready`, and payloads of records that were
    /// done or received before to `released`.
    void arrive(std::span<fetched_record> batch, sys::clock::time_point now, std::vector<held_record*>& ready,
                std::vector<void*>& released);
    /// All offsets below `position` have been delivered or do not exist.
    void pass(std::int64_t position);
    /// Appends the retries that are due.
    void start_due(sys::clock::time_point now, std::vector<held_record*>& ready);
    /// A lane has returned a record, and its `end` says why. Appends the next record of its key.
    void end(held_record& r, sys::clock::time_point due, std::vector<held_record*>& ready,
             std::vector<void*>& released);

    /// Returns how many further records the partition accepts, and the reason if there is no room.
    [[nodiscard]] std::size_t room() const noexcept;
    [[nodiscard]] records::pause_reason paused() const noexcept;
    /// The number of records in lanes, given up or not.
    [[nodiscard]] std::size_t in_lanes() const noexcept { return in_lanes_; }
    /// After drain(): returns whether a function still runs.
    [[nodiscard]] bool has_running() const noexcept { return in_lanes_ != dropped_; }
    /// Number of records that were given up unrun, or whose result had no effect.
    [[nodiscard]] std::uint64_t given_up_records() const noexcept { return given_up_unrun_; }
    [[nodiscard]] bool accepts_results() const noexcept { return accepts_results_; }
    /// Number of records that are done, and whose commit has not succeeded.
    [[nodiscard]] std::uint64_t unsaved() const noexcept { return finished_ - saved_; }
    [[nodiscard]] std::size_t held() const noexcept { return held_; }
    [[nodiscard]] std::size_t held_bytes() const noexcept { return held_bytes_; }
    /// Number of records that are done and wait for a commit of their outputs.
    [[nodiscard]] std::size_t uncommitted() const noexcept { return uncommitted_; }
    /// The first retry, or time_point::max().
    [[nodiscard]] sys::clock::time_point next_retry() const noexcept;

    // ---- commits

    /// Returns whether a commit would say something new.
    [[nodiscard]] bool has_news() const noexcept { return may_commit() && has_changed_; }
    /// Fills the part of a commit: everything that is done, and its outputs.
    void take(commit_part& to);
    /// The commit with this part has succeeded: frees its records.
    void committed(const commit_part& part, std::vector<void*>& released);
    /// The commit with this part has failed. Its outputs belong to the next commit. If `outputs_sent`, only
    /// its offsets belong to the next commit.
    void returned(const commit_part& part, bool outputs_sent, std::vector<void*>& released);
    /// The outcome of the commit with this part was unknown, and this is what has been committed: offset (or
    /// -1) and metadata. Returns false if the metadata is unknown.
    [[nodiscard]] bool settle(const commit_part& part, std::int64_t offset, std::string_view metadata,
                              std::vector<void*>& released);

    // ---- for lanes, in any thread

    key_queues keys;
    [[nodiscard]] std::stop_token given_up() const noexcept { return given_up_; }
    /// The generation in which the partition was assigned. For diagnosis.
    std::int32_t generation = 0;

    /// Returns the progress, without the lag.
    [[nodiscard]] records::partition_metrics metrics(sys::clock::time_point now) const;
    [[nodiscard]] std::int64_t watermark() const noexcept { return done_.watermark(); }
    [[nodiscard]] std::int64_t end() const noexcept { return done_.end(); }

private:
    [[nodiscard]] held_record& hold(fetched_record& from, sys::clock::time_point now);
    void free(held_record& r, std::vector<void*>& released);
    void admit(held_record& r, std::vector<held_record*>& ready, std::vector<void*>& released);
    void queue(held_record& r, std::vector<held_record*>& ready);
    void give_up(held_record& r, std::vector<void*>& released);
    void move_on(std::vector<held_record*>& ready, std::vector<void*>& released);

    const std::string topic_;
    const std::int32_t partition_;
    const std::uint64_t epoch_;
    const ledger_limits limits_;
    ledger_state state_ = ledger_state::loading;
    done_window done_;
    bool has_changed_ = false;
    bool accepts_results_ = true;
    std::int64_t passed_to_ = -1; // the largest position of pass()

    std::deque<held_record> pool_;
    held_record* free_ = nullptr;
    held_record* first_ = nullptr; // all held records, in the order of their offsets
    held_record* last_ = nullptr;
    std::size_t held_ = 0;
    std::size_t held_bytes_ = 0;
    std::size_t in_lanes_ = 0;
    std::size_t dropped_ = 0; // records that were given up in a lane, and that the lane has not returned
    std::size_t uncommitted_ = 0;
    std::uint64_t given_up_unrun_ = 0;
    std::uint64_t finished_ = 0; // records that are done, and how many of them a commit has saved
    std::uint64_t saved_ = 0;
    std::deque<held_record*> behind_window_; // have arrived, but the watermark is too far behind
    std::multimap<sys::clock::time_point, held_record*> retries_;

    std::stop_source stop_;
    std::stop_token given_up_;
};

} // namespace ekiden::inline EKIDEN_ABI::kafka::detail
