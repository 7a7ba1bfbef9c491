/// The blocking calls of a worker that commit: transactions, outputs and offsets.
///
/// Part: kafka. Used by: worker_driver, in its commit thread. Private.
#pragma once

#include <ekiden/kafka/detail/broker_link.hpp>
#include <ekiden/kafka/detail/client.hpp>
#include <ekiden/kafka/worker.hpp>
#include <ekiden/sys/clock.hpp>

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <string_view>

namespace ekiden::inline EKIDEN_ABI::kafka::detail {

/// The settings that no program can choose for a worker.
[[nodiscard]] std::span<const fixed_setting> fixed_for_workers() noexcept;

/// Throws std::invalid_argument if an option is not allowed.
void check(const worker_options& chosen);

/// Not thread-safe: the commit thread calls all members except the constructor and the destructor.
class committer : client_base {
public:
    /// `consumer` is the consumer of the worker, which must outlive this object.
    committer(const settings& where, const worker_options& chosen, rd_kafka_t* consumer);
    ~committer();

    /// The calls of broker_link, and their results.
    [[nodiscard]] call_result renew();
    [[nodiscard]] call_result commit(commit_batch& batch);
    [[nodiscard]] call_result repeat(commit_batch& batch);
    [[nodiscard]] call_result abort(commit_batch& batch);

    /// Returns whether the call that repeat() repeats is an abort.
    [[nodiscard]] bool is_aborting() const noexcept { return step_ == step::abort; }
    /// Returns true if the worker cannot continue after the last call: the group refuses its commits.
    [[nodiscard]] bool is_hopeless() const noexcept { return hopeless_; }

private:
    enum class step : std::uint8_t { begin, outputs, offsets, finish, abort };

    [[nodiscard]] bool is_transactional() const noexcept { return mode_ == delivery::exactly_once; }
    void make_producer();
    void drop_producer() noexcept;
    [[nodiscard]] call_result advance(commit_batch& batch);
    [[nodiscard]] call_result advance_transaction(commit_batch& batch);
    [[nodiscard]] call_result send_outputs(commit_batch& batch);
    [[nodiscard]] call_result await_outputs(const commit_batch& batch);
    [[nodiscard]] call_result commit_offsets(const commit_batch& batch);
    [[nodiscard]] list_handle offsets_of(const commit_batch& batch) const;
    [[nodiscard]] outcome outcome_of_outputs() const noexcept;
    [[nodiscard]] rd_kafka_resp_err_t produce(const records::outgoing& output, bool has_key);
    [[nodiscard]] call_result failed(std::string_view what, rd_kafka_error_t* reported);
    [[nodiscard]] call_result ended(const commit_batch& batch, call_result result);
    [[nodiscard]] bool is_topic_refused(const std::string& topic) const;
    [[nodiscard]] int left_until(sys::clock::time_point limit) const noexcept;

    const std::string topic_;
    const std::string id_; // the transactional id
    const delivery mode_;
    const std::chrono::milliseconds limit_;
    rd_kafka_t* const consumer_;
    client_handle producer_;
    bool is_initialized_ = false;
    bool hopeless_ = false;
    bool in_doubt_ = false; // a call of this batch has timed out
    step step_ = step::begin;
    std::size_t sent_ = 0;     // number of outputs of the batch that were passed to librdkafka
    std::uint64_t broken_ = 0; // connections that broke, by the error callback
    std::uint64_t failed_ = 0; // outputs that were not delivered, by the delivery report
    std::map<std::string, rd_kafka_resp_err_t> failed_topics_; // the topics of these outputs, with an error
    std::uint64_t unbroken_ = 0;                               // the value of broken_ when the batch began
};

} // namespace ekiden::inline EKIDEN_ABI::kafka::detail
