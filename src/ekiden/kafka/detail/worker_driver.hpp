/// The driver of a worker: it connects the logic of worker_core to librdkafka and to the lanes.
///
/// Part: kafka. Used by: worker. Private. Three threads take part. The thread of run() polls and calls the
/// core. The commit thread makes the blocking calls of commits. The load thread reads committed offsets.
#pragma once

#include <ekiden/kafka/detail/client.hpp>
#include <ekiden/kafka/detail/committer.hpp>
#include <ekiden/kafka/detail/job_thread.hpp>
#include <ekiden/kafka/detail/record_lanes.hpp>
#include <ekiden/kafka/detail/worker_core.hpp>
#include <ekiden/kafka/worker.hpp>
#include <ekiden/sync/event.hpp>
#include <ekiden/sys/atomic.hpp>
#include <ekiden/sys/fork.hpp>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

namespace ekiden::inline EKIDEN_ABI::kafka::detail {

/// Returns a message as a record of the core, which owns the message then.
[[nodiscard]] fetched_record to_fetched(rd_kafka_message_t& message);

class worker_driver final : public client_base,
                            public std::enable_shared_from_this<worker_driver>,
                            broker_link {
public:
    worker_driver(const settings& where, const worker_options& chosen, std::unique_ptr<record_starter> lanes);
    ~worker_driver();

    void run(std::stop_token stop);
    [[nodiscard]] bool close(const wait_limit& limit);
    [[nodiscard]] records::worker_metrics metrics() const { return core_.metrics(); }
    /// Closes the worker, and waits until no record is in a lane.
    void end() noexcept;
    [[nodiscard]] bool is_in_forked_child() const noexcept { return generation_ != sys::fork_generation(); }

    // ---- the lanes, in any thread

    [[nodiscard]] bool begin(held_record& r);
    void succeed(held_record& r, reply&& outputs) noexcept;
    void fail(held_record& r, const std::exception_ptr& reason) noexcept;
    void abandon(held_record& r) noexcept;

private:
    /// A partition that is assigned. Its records wait in a queue of their own, so the driver reads only from
    /// partitions that have room.
    struct fetched_partition {
        worker_driver* owner;
        queue_handle queue;
        sys::atomic<bool> has_news{true}; // the queue may contain something
        std::int64_t next = 0;            // the offset after the newest record
        bool has_gone_back = false;       // An older record came, so the log may have begun again.
    };

    // broker_link
    void load(std::int32_t partition, std::uint64_t epoch) override;
    void start(std::span<held_record* const> ready) override;
    void release(void* payload) noexcept override;
    void commit(commit_batch& batch) override;
    void repeat(commit_batch& batch) override;
    void abort(commit_batch& batch) override;
    void renew_producer() override;
    void unassign(std::span<const std::int32_t> partitions) override;
    void wake() noexcept override { wake_.set(); }

    [[nodiscard]] client_handle make_consumer();
    static void add_to(std::optional<job_thread>& thread, std::function<void()> job);
    void answer_later(std::function<void()> call);
    void answer();
    static void rebalanced(rd_kafka_t*, rd_kafka_resp_err_t what, rd_kafka_topic_partition_list_t* list,
                           void* self) noexcept;
    void rebalance(rd_kafka_resp_err_t what, rd_kafka_topic_partition_list_t& list);
    void assign(rd_kafka_topic_partition_list_t& list, std::span<const std::int32_t> partitions);
    [[nodiscard]] list_handle list_of(std::span<const std::int32_t> partitions) const;
    void serve_group(int limit_ms);
    void fetch();
    [[nodiscard]] bool can_fetch() const;
    void fetch_from(std::int32_t partition, fetched_partition& from);
    void read_log_ends(sys::clock::time_point now);
    [[nodiscard]] bool serve_once();
    void leave();
    void answer_commit(const commit_batch& batch, call_result result);
    void answer_abort(const commit_batch& batch, call_result result);
    void request_close(const wait_limit& limit) noexcept;
    void check_partition_count();
    void check_log(std::int32_t partition, std::int64_t position);
    void check_log_later(std::int32_t partition, std::int64_t position);
    [[nodiscard]] std::optional<std::string> fault_of(const reply& outputs) const;
    [[nodiscard]] loaded_offset read_committed(std::int32_t partition, std::uint64_t epoch);
    [[nodiscard]] std::vector<std::string> read_parked(std::int32_t partition);
    void note(const std::string& text) const;

    static constexpr int read_limit_ms = 5'000; // of a request in the load thread

    const worker_options chosen_;
    const core_options core_options_;
    const std::uint16_t generation_ = sys::fork_generation(); // of the process that has made the worker
    std::unique_ptr<record_starter> lanes_;
    std::size_t most_bytes_ = 1'000'000; // of an output
    client_handle consumer_;
    queue_handle group_queue_;
    std::map<std::int32_t, std::unique_ptr<fetched_partition>> partitions_;
    std::vector<rd_kafka_message_t*> messages_; // reused by fetch_from()
    std::vector<fetched_record> fetched_;
    event wake_;
    worker_core core_;
    sys::clock::time_point next_log_ends_{};
    bool is_closing_ = false;
    bool is_leaving_ = false;
    std::int32_t partition_count_ = 0; // the load thread owns it

    mutable sys::slow_lock lock_;
    std::vector<std::function<void()>> answers_;            // lock_ guards these members
    std::optional<sys::clock::time_point> close_requested_; // with the limit
    bool has_run_ = false;
    bool is_clean_ = true;

    sys::atomic<bool> is_abandoned_{false}; // the executor has dropped a record
    event left_{true};                      // set while run() does not run

    committer committer_;
    std::optional<job_thread> commits_; // while run() runs
    std::optional<job_thread> loads_;
};

} // namespace ekiden::inline EKIDEN_ABI::kafka::detail
