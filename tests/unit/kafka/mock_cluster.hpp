/// Brokers inside this process: the mock cluster of librdkafka.
#pragma once

#include <ekiden/kafka/detail/client.hpp>

#include <doctest/doctest.h>
#include <librdkafka/rdkafka_mock.h>

#include <chrono>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace ekiden_test {

/// The numbers of requests in Kafka's protocol, for injected errors.
enum class api : std::int16_t {
    produce = 0,
    metadata = 3,
    offset_commit = 8,
    offset_fetch = 9,
    find_coordinator = 10,
    join_group = 11,
    heartbeat = 12,
    init_producer_id = 22,
    add_partitions = 24,
    add_offsets = 25,
    end_transaction = 26,
    transaction_offsets = 28
};

/// A record that was read back.
struct stored {
    std::int32_t partition = 0;
    std::int64_t offset = 0;
    std::optional<std::string> key;
    std::optional<std::string> value;
    ekiden::kafka::headers with;
};

/// Waits until `holds()` is true. Returns false after a minute.
template <class Condition>
bool eventually(Condition&& holds, std::chrono::seconds limit = std::chrono::seconds(60)) {
    const auto end = std::chrono::steady_clock::now() + limit;
    while (!holds()) {
        if (std::chrono::steady_clock::now() > end) return false;
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    return true;
}

class mock_cluster {
public:
    explicit mock_cluster(int brokers = 1)
        : owner_(make_owner()), cluster_(rd_kafka_mock_cluster_new(owner_.get(), brokers)) {}

    [[nodiscard]] ekiden::kafka::settings where() const {
        return {.brokers = rd_kafka_mock_cluster_bootstraps(cluster_.get())};
    }
    void create(const char* topic, int partitions, int replicas = 1) {
        REQUIRE(rd_kafka_mock_topic_create(cluster_.get(), topic, partitions, replicas) == 0);
    }
    /// The next requests of this kind, at any broker, fail with these errors.
    void fail(api request, const std::vector<rd_kafka_resp_err_t>& errors) {
        rd_kafka_mock_push_request_errors_array(cluster_.get(), static_cast<std::int16_t>(request),
                                                errors.size(), errors.data());
    }
    void fail(api request, rd_kafka_resp_err_t error, std::size_t times = 1) {
        fail(request, std::vector<rd_kafka_resp_err_t>(times, error));
    }
    void forgive(api request) {
        rd_kafka_mock_clear_request_errors(cluster_.get(), static_cast<std::int16_t>(request));
    }
    void set_leader(const char* topic, std::int32_t partition, std::int32_t broker) {
        rd_kafka_mock_partition_set_leader(cluster_.get(), topic, partition, broker);
    }
    void set_up(std::int32_t broker, bool is_up) {
        (is_up ? rd_kafka_mock_broker_set_up : rd_kafka_mock_broker_set_down)(cluster_.get(), broker);
    }
    void set_round_trip(std::int32_t broker, std::chrono::milliseconds time) {
        rd_kafka_mock_broker_set_rtt(cluster_.get(), broker, static_cast<int>(time.count()));
    }
    [[nodiscard]] rd_kafka_mock_cluster_t* get() const noexcept { return cluster_.get(); }

    /// Reads `topic` with `partitions` partitions from the beginning to its present end.
    [[nodiscard]] std::vector<stored> read(const char* topic, int partitions) const;

private:
    static ekiden::kafka::detail::client_handle make_owner() {
        char reason[256];
        rd_kafka_conf_t* const conf = rd_kafka_conf_new();
        rd_kafka_conf_set_log_cb(conf, [](const rd_kafka_t*, int, const char*, const char*) {});
        rd_kafka_t* const made = rd_kafka_new(RD_KAFKA_PRODUCER, conf, reason, sizeof reason);
        REQUIRE_MESSAGE(made != nullptr, reason);
        return ekiden::kafka::detail::client_handle(made);
    }

    ekiden::kafka::detail::client_handle owner_;
    std::unique_ptr<rd_kafka_mock_cluster_t,
                    ekiden::kafka::detail::destroyed_by<rd_kafka_mock_cluster_destroy>>
        cluster_;
};

/// Reads a topic from its beginning to its present end.
std::vector<stored> read_topic(const std::string& brokers, const char* topic, int partitions);

inline std::vector<stored> mock_cluster::read(const char* topic, int partitions) const {
    return read_topic(where().brokers, topic, partitions);
}

inline stored to_stored(const rd_kafka_message_t& message) {
    stored one{message.partition, message.offset, std::nullopt, std::nullopt, {}};
    if (message.key != nullptr) one.key.emplace(static_cast<const char*>(message.key), message.key_len);
    if (message.payload != nullptr) one.value.emplace(static_cast<const char*>(message.payload), message.len);
    rd_kafka_headers_t* list = nullptr;
    if (rd_kafka_message_headers(&message, &list) == RD_KAFKA_RESP_ERR_NO_ERROR) {
        const char* name = nullptr;
        const void* value = nullptr;
        std::size_t size = 0;
        for (std::size_t i = 0; rd_kafka_header_get_all(list, i, &name, &value, &size) == 0; ++i)
            one.with.push_back({name, std::string(static_cast<const char*>(value), size)});
    }
    return one;
}

inline std::vector<stored> read_topic(const std::string& brokers, const char* topic, int partitions) {
    char reason[256];
    rd_kafka_conf_t* const conf = rd_kafka_conf_new();
    const auto set = [&](const char* name, const char* value) {
        REQUIRE(rd_kafka_conf_set(conf, name, value, reason, sizeof reason) == RD_KAFKA_CONF_OK);
    };
    set("bootstrap.servers", brokers.c_str());
    set("group.id", "reader");
    set("enable.auto.commit", "false");
    set("enable.partition.eof", "true");
    set("auto.offset.reset", "earliest");
    const ekiden::kafka::detail::client_handle reader(
        rd_kafka_new(RD_KAFKA_CONSUMER, conf, reason, sizeof reason));
    REQUIRE(reader != nullptr);
    rd_kafka_poll_set_consumer(reader.get());
    const ekiden::kafka::detail::list_handle all(rd_kafka_topic_partition_list_new(partitions));
    for (int p = 0; p < partitions; ++p)
        rd_kafka_topic_partition_list_add(all.get(), topic, p)->offset = RD_KAFKA_OFFSET_BEGINNING;
    REQUIRE(rd_kafka_assign(reader.get(), all.get()) == RD_KAFKA_RESP_ERR_NO_ERROR);
    std::vector<stored> found;
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    for (int ends = 0; ends < partitions && std::chrono::steady_clock::now() < end;) {
        rd_kafka_message_t* const message = rd_kafka_consumer_poll(reader.get(), 100);
        if (message == nullptr) continue;
        if (message->err == RD_KAFKA_RESP_ERR__PARTITION_EOF) ++ends;
        if (message->err == RD_KAFKA_RESP_ERR_NO_ERROR) found.push_back(to_stored(*message));
        rd_kafka_message_destroy(message);
    }
    rd_kafka_consumer_close(reader.get());
    return found;
}

} // namespace ekiden_test
