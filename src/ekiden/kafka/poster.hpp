/// Sends records to a topic of Kafka.
///
/// Part: kafka. Used by: programs.
#pragma once

#include <ekiden/future/future.hpp>
#include <ekiden/kafka/error.hpp>
#include <ekiden/kafka/settings.hpp>
#include <ekiden/lanes/lanes_options.hpp>
#include <ekiden/sync/wait_limit.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace ekiden::inline EKIDEN_ABI::kafka {

namespace detail {
class posting;
} // namespace detail

/// The options of a poster.
struct poster_options {
    std::string topic;              ///< The topic for all records. Required.
    std::size_t capacity = 100'000; ///< the maximum number of records that are not yet delivered; at least 1
    /// The maximum number of bytes in the keys, values and headers of these records. At least 1. A record
    /// that is larger is sent when it is alone.
    std::size_t capacity_bytes = 64 << 20;
    /// What a post does without room. `block` waits for room. The values that drop records are refused.
    when_full policy = when_full::reject;
    /// The maximum time from the post of a record to its delivery or its failure. At least 1 ms.
    std::chrono::milliseconds give_up_after{30'000};
    /// Keys move to other partitions if the topic gets more partitions, so their order breaks. A poster
    /// normally refuses all records from then on. If true, the poster continues, with the new partitions.
    bool allow_growth = false;
};

/// The counters of a poster since its construction.
struct poster_metrics {
    std::uint64_t accepted = 0;    ///< records that post() or submit() has accepted
    std::uint64_t delivered = 0;   ///< accepted records that all in-sync replicas have
    std::uint64_t failed = 0;      ///< accepted records that were reported as failed
    std::uint64_t in_doubt = 0;    ///< failed records that the brokers may have stored
    std::uint64_t refused = 0;     ///< records that were refused
    std::uint64_t waited = 0;      ///< posts that have waited for room
    std::size_t pending = 0;       ///< accepted records that are not yet reported as delivered or failed
    std::size_t pending_bytes = 0; ///< bytes of these records
    std::int32_t partitions = 0;   ///< the number of partitions; 0 before the first metadata
    bool has_grown = false;        ///< whether the number of partitions has changed
    std::string last_error;        ///< the text of the last error; empty if there was none
};

/// Sends records to one topic. The poster is an idempotent producer, and waits for all in-sync replicas. So
/// the records of one key are stored in the order of their posts, each once, also after retries. If a record
/// fails, later records of its key may still be delivered.
///
/// A record goes to the partition that a Java client chooses for its key (murmur2). So producers in Java and
/// posters can write to the same topic. Each accepted record is delivered or reported as failed, once.
///
/// Thread safety: all members except the destructor may be called concurrently. Calls in one thread keep
/// their order. A thread of the poster completes the futures. If an executor runs a continuation in that
/// thread, the continuation should be short. There, a post exceeds the capacity instead of waiting, close()
/// does not wait, and the poster may be destroyed: its thread then reports the pending records later. In the
/// child of a fork(), the only allowed call is the destructor, which then does nothing.
class poster {
public:
    /// Starts a poster. Returns before there is a connection. Throws std::invalid_argument for a setting or
    /// an option that is not allowed, and std::system_error if the system refuses a thread.
    poster(const settings& where, const poster_options& chosen);
    /// Waits until each accepted record is delivered or has failed. This takes at most the time
    /// `give_up_after`. Call close() first to wait less.
    ~poster();
    poster(const poster&) = delete;
    poster& operator=(const poster&) = delete;

    /// Sends a record later. Returns true if the record was accepted. A value of std::nullopt makes a
    /// tombstone. Returns false without room, after close(), after a fatal error, and if the number of
    /// partitions has changed. Throws std::invalid_argument if the record is larger than the setting
    /// "message.max.bytes", or if the name of a header has a zero byte. Throws std::bad_alloc.
    [[nodiscard]] bool post(std::string_view key, std::optional<std::string_view> value,
                            const headers& with = {}) const;
    /// Sends a record like post(). The future gets the place of the record when all in-sync replicas have it.
    /// The future reports a failure as kafka::error. If the record is refused, the future reports
    /// operation_canceled, or kafka::error after a fatal error or a changed number of
    /// partitions.
    [[nodiscard]] future<position> submit(std::string_view key, std::optional<std::string_view> value,
                                          const headers& with = {}) const;

    /// Waits until no record is pending. Returns false if the limit was reached first. If other threads
    /// continue to post, the wait may take longer. Throws std::system_error(resource_deadlock_would_occur) in
    /// the thread of the poster.
    [[nodiscard]] bool flush(const wait_limit& limit) const;
    [[nodiscard]] bool flush(const wait_duration& limit) const {
        return flush(static_cast<const wait_limit&>(limit));
    }
    /// Refuses further records, and waits like flush(). After the limit, reports the pending records as
    /// failed, including records that are on their way to a broker. Returns whether all records were
    /// delivered or had failed before the limit.
    [[nodiscard]] bool close(const wait_limit& limit);
    [[nodiscard]] bool close(const wait_duration& limit) {
        return close(static_cast<const wait_limit&>(limit));
    }

    /// Returns the counters.
    [[nodiscard]] poster_metrics metrics() const;

private:
    std::shared_ptr<detail::posting> state_;
};

} // namespace ekiden::inline EKIDEN_ABI::kafka
