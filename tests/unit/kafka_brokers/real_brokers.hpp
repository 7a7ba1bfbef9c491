/// Real brokers, which tools/kafka.sh has started.
#pragma once

#include <ekiden/kafka/detail/client.hpp>
#include <tests/unit/kafka/mock_cluster.hpp>
#include <tests/unit/kafka_workers/worker_process.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <string>

namespace ekiden_test {

inline ekiden::kafka::settings real_brokers() {
    const char* const brokers = std::getenv("KAFKA_BROKERS");
    REQUIRE_MESSAGE(brokers != nullptr, "KAFKA_BROKERS is not set: see tools/kafka.sh");
    return {.brokers = brokers};
}

/// Calls `ask` with an admin client and a queue, and checks the result of each topic.
template <class Ask>
void as_admin(rd_kafka_event_type_t answer, Ask&& ask) {
    namespace detail = ekiden::kafka::detail;
    char reason[256];
    rd_kafka_conf_t* const conf = rd_kafka_conf_new();
    rd_kafka_conf_set(conf, "bootstrap.servers", real_brokers().brokers.c_str(), reason, sizeof reason);
    const detail::client_handle admin(rd_kafka_new(RD_KAFKA_PRODUCER, conf, reason, sizeof reason));
    const detail::queue_handle queue(rd_kafka_queue_new(admin.get()));
    ask(admin.get(), queue.get());
    const detail::event_handle event(rd_kafka_queue_poll(queue.get(), 30'000));
    REQUIRE(event != nullptr);
    REQUIRE(rd_kafka_event_type(event.get()) == answer);
    REQUIRE(rd_kafka_event_error(event.get()) == RD_KAFKA_RESP_ERR_NO_ERROR);
}

/// Creates a topic with a name that no other test has, and returns its name.
inline std::string new_topic(const char* what, int partitions) {
    static std::atomic<int> count{0};
    const auto now = std::chrono::system_clock::now().time_since_epoch().count();
    const std::string name = std::string(what) + '-' + std::to_string(now) + '-' + std::to_string(count++);
    as_admin(RD_KAFKA_EVENT_CREATETOPICS_RESULT, [&](rd_kafka_t* admin, rd_kafka_queue_t* queue) {
        char reason[256];
        rd_kafka_NewTopic_t* topic =
            rd_kafka_NewTopic_new(name.c_str(), partitions, 1, reason, sizeof reason);
        rd_kafka_CreateTopics(admin, &topic, 1, nullptr, queue);
        rd_kafka_NewTopic_destroy(topic);
    });
    return name;
}

inline void grow_topic(const std::string& name, std::size_t partitions) {
    as_admin(RD_KAFKA_EVENT_CREATEPARTITIONS_RESULT, [&](rd_kafka_t* admin, rd_kafka_queue_t* queue) {
        char reason[256];
        rd_kafka_NewPartitions_t* more =
            rd_kafka_NewPartitions_new(name.c_str(), partitions, reason, sizeof reason);
        rd_kafka_CreatePartitions(admin, &more, 1, nullptr, queue);
        rd_kafka_NewPartitions_destroy(more);
    });
}

/// A committed offset and its metadata.
struct committed {
    std::int64_t offset = -1;
    std::string metadata;
};

/// A consumer that is not in the group, but reads or writes its offsets.
template <class Use>
void with_offsets(const std::string& group, const std::string& topic, int partition, Use&& use) {
    namespace detail = ekiden::kafka::detail;
    char reason[256];
    rd_kafka_conf_t* const conf = rd_kafka_conf_new();
    rd_kafka_conf_set(conf, "bootstrap.servers", real_brokers().brokers.c_str(), reason, sizeof reason);
    rd_kafka_conf_set(conf, "group.id", group.c_str(), reason, sizeof reason);
    rd_kafka_conf_set(conf, "enable.auto.commit", "false", reason, sizeof reason);
    const detail::client_handle reader(rd_kafka_new(RD_KAFKA_CONSUMER, conf, reason, sizeof reason));
    const detail::list_handle list(rd_kafka_topic_partition_list_new(1));
    use(reader.get(), list.get(), rd_kafka_topic_partition_list_add(list.get(), topic.c_str(), partition));
}
inline committed read_committed(const std::string& group, const std::string& topic, int partition) {
    committed found;
    with_offsets(group, topic, partition, [&](rd_kafka_t* reader, auto* list, auto* one) {
        REQUIRE(rd_kafka_committed(reader, list, 20'000) == RD_KAFKA_RESP_ERR_NO_ERROR);
        found.offset = one->offset;
        if (one->metadata != nullptr)
            found.metadata.assign(static_cast<char*>(one->metadata), one->metadata_size);
    });
    return found;
}
inline void write_committed(const std::string& group, const std::string& topic, int partition,
                            const committed& what) {
    with_offsets(group, topic, partition, [&](rd_kafka_t* reader, auto* list, auto* one) {
        one->offset = what.offset;
        one->metadata = rd_kafka_mem_malloc(nullptr, what.metadata.size());
        one->metadata_size = what.metadata.size();
        std::memcpy(one->metadata, what.metadata.data(), what.metadata.size());
        REQUIRE(rd_kafka_commit(reader, list, 0) == RD_KAFKA_RESP_ERR_NO_ERROR);
    });
}

} // namespace ekiden_test
