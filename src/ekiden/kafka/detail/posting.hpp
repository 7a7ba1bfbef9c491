/// The state of a poster: a producer of librdkafka, and the thread that serves its delivery reports.
///
/// Part: kafka. Used by: poster. Private.
#pragma once

#include <ekiden/future/promise.hpp>
#include <ekiden/kafka/detail/client.hpp>
#include <ekiden/kafka/detail/room.hpp>
#include <ekiden/kafka/poster.hpp>
#include <ekiden/sys/atomic.hpp>
#include <ekiden/sys/fork.hpp>
#include <ekiden/sys/lock.hpp>
#include <ekiden/sys/thread.hpp>

#include <optional>

namespace ekiden::inline EKIDEN_ABI::kafka::detail {

/// The state of a poster. The poster and the thread of the poster own it together.
class posting : public client_base {
public:
    posting(const settings& where, const poster_options& chosen);

    /// Starts the thread of `self`.
    static void start(const std::shared_ptr<posting>& self);
    /// Waits for all records, and ends the thread. In the thread itself, only lets it end later. In the child
    /// of a fork(), does nothing, so the state stays.
    void finish() noexcept;

    /// Sends a record. Returns whether it was accepted. If not, either `promised` has its promise still, or
    /// the promise reports the error.
    [[nodiscard]] bool send(std::string_view key, std::optional<std::string_view> value, const headers& with,
                            std::optional<promise<position>>& promised);
    /// Returns the reason why send() has refused a record.
    [[nodiscard]] std::exception_ptr refusal() const;

    [[nodiscard]] bool flush(const wait_limit& limit) const;
    [[nodiscard]] bool close(const wait_limit& limit);
    [[nodiscard]] poster_metrics metrics() const;

    /// The producer, for tests.
    [[nodiscard]] rd_kafka_t* client() const noexcept { return client_.get(); }
    /// Chooses the partition of a key. `count` is the current number of partitions.
    [[nodiscard]] std::int32_t partition_of(const void* key, std::size_t size, std::int32_t count) noexcept;

private:
    struct record; // a pending record

    static std::int32_t choose(const rd_kafka_topic_t*, const void* key, std::size_t size, std::int32_t count,
                               void* self, void* message) noexcept;
    [[nodiscard]] room::answer enter(std::size_t bytes);
    [[nodiscard]] bool produce(std::unique_ptr<record> added, std::string_view key,
                               std::optional<std::string_view> value, const headers& with,
                               std::optional<promise<position>>& promised);
    void serve();
    void report(rd_kafka_event_t& event);
    void complete(const rd_kafka_message_t& message) noexcept;
    void note_error(rd_kafka_event_t& event);
    void note(std::string text);
    [[nodiscard]] bool is_serving_here() const noexcept;
    void purge() noexcept;

    const poster_options chosen_;
    const std::uint16_t generation_ = sys::fork_generation(); // of the process that has made the poster
    room room_;
    sys::atomic<std::int32_t> partitions_{0};
    sys::atomic<bool> grown_{false};
    sys::atomic<bool> failed_{false}; // set once after a fatal error
    sys::atomic<bool> ending_{false};
    sys::atomic<std::uint64_t> accepted_{0};
    sys::atomic<std::uint64_t> delivered_{0};
    sys::atomic<std::uint64_t> undelivered_{0};
    sys::atomic<std::uint64_t> in_doubt_{0};
    sys::atomic<std::uint64_t> refused_{0};
    mutable sys::slow_lock lock_;
    std::optional<error> fatal_; // lock_ guards this error and the text
    std::string last_error_;
    client_handle client_; // destroyed after its queue and its topic, which are destroyed first
    topic_handle topic_;
    queue_handle queue_;
    sys::thread thread_;
};

} // namespace ekiden::inline EKIDEN_ABI::kafka::detail
