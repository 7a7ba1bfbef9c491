/// A few lines around librdkafka, for the programs of the soak. Not the library's own driver: the soak must
/// not trust what it tests.
#pragma once

#include <chrono>
#include <cstdint>
#include <librdkafka/rdkafka.h>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kafka_soak {

using settings = std::vector<std::pair<std::string, std::string>>;

struct destroy {
    void operator()(rd_kafka_t* p) const { rd_kafka_destroy(p); }
    void operator()(rd_kafka_conf_t* p) const { rd_kafka_conf_destroy(p); }
    void operator()(rd_kafka_message_t* p) const { rd_kafka_message_destroy(p); }
    void operator()(rd_kafka_topic_partition_list_t* p) const { rd_kafka_topic_partition_list_destroy(p); }
    void operator()(rd_kafka_consumer_group_metadata_t* p) const {
        rd_kafka_consumer_group_metadata_destroy(p);
    }
    void operator()(rd_kafka_error_t* p) const { rd_kafka_error_destroy(p); }
    void operator()(const rd_kafka_metadata_t* p) const { rd_kafka_metadata_destroy(p); }
};
template <class T>
using owned = std::unique_ptr<T, destroy>;
using client = owned<rd_kafka_t>;
using message = owned<rd_kafka_message_t>;
using partition_list = owned<rd_kafka_topic_partition_list_t>;
using failure = owned<rd_kafka_error_t>;

inline owned<rd_kafka_conf_t> configured(const settings& with) {
    owned<rd_kafka_conf_t> conf(rd_kafka_conf_new());
    // Brokers that are killed on purpose would fill the log.
    rd_kafka_conf_set_log_cb(conf.get(), [](const rd_kafka_t*, int, const char*, const char*) {});
    rd_kafka_conf_set_error_cb(conf.get(), [](rd_kafka_t*, int, const char*, void*) {});
    char why[256];
    for (const auto& [name, value] : with)
        if (rd_kafka_conf_set(conf.get(), name.c_str(), value.c_str(), why, sizeof why) != RD_KAFKA_CONF_OK)
            throw std::invalid_argument(why);
    return conf;
}

inline client make_client(rd_kafka_type_t type, owned<rd_kafka_conf_t> conf) {
    char why[256];
    client made(rd_kafka_new(type, conf.get(), why, sizeof why));
    if (!made) throw std::runtime_error(why);
    static_cast<void>(conf.release()); // the client owns it now
    return made;
}

inline void check(rd_kafka_resp_err_t error, const std::string& what) {
    if (error != RD_KAFKA_RESP_ERR_NO_ERROR) throw std::runtime_error(what + ": " + rd_kafka_err2str(error));
}

/// Gives a record to a producer. If the queue is full, waits until it has room.
inline void produce(rd_kafka_t* to, const std::string& topic, std::string_view key, std::string_view value) {
    const auto bytes_of = [](std::string_view text) {
        return const_cast<char*>(text.data());
    }; // NOLINT: copied
    rd_kafka_vu_t parts[4]{};
    parts[0].vtype = RD_KAFKA_VTYPE_TOPIC;
    parts[0].u.cstr = topic.c_str();
    parts[1].vtype = RD_KAFKA_VTYPE_KEY;
    parts[1].u.mem = {bytes_of(key), key.size()};
    parts[2].vtype = RD_KAFKA_VTYPE_VALUE;
    parts[2].u.mem = {bytes_of(value), value.size()};
    parts[3].vtype = RD_KAFKA_VTYPE_MSGFLAGS;
    parts[3].u.i = RD_KAFKA_MSG_F_COPY;
    for (;;) {
        const failure error(rd_kafka_produceva(to, parts, 4));
        if (!error) return;
        if (rd_kafka_error_code(error.get()) != RD_KAFKA_RESP_ERR__QUEUE_FULL)
            throw std::runtime_error(std::string("produce: ") + rd_kafka_error_string(error.get()));
        rd_kafka_poll(to, 10);
    }
}

inline std::string_view key_of(const rd_kafka_message_t& m) {
    return {static_cast<const char*>(m.key), m.key_len};
}
inline std::string_view value_of(const rd_kafka_message_t& m) {
    return {static_cast<const char*>(m.payload), m.len};
}

/// The partitions of a topic, with their offsets unset.
inline partition_list partitions_of(const std::string& topic, int count) {
    partition_list list(rd_kafka_topic_partition_list_new(count));
    for (int p = 0; p < count; ++p) rd_kafka_topic_partition_list_add(list.get(), topic.c_str(), p);
    return list;
}

/// Creates a topic. Each broker has a replica, as tools/kafka.sh configures them.
inline void create_topic(const std::string& brokers, const std::string& name, int partitions) {
    const client admin = make_client(RD_KAFKA_PRODUCER, configured({{"bootstrap.servers", brokers}}));
    char why[256];
    rd_kafka_NewTopic_t* topic = rd_kafka_NewTopic_new(name.c_str(), partitions, -1, why, sizeof why);
    if (topic == nullptr) throw std::runtime_error(why);
    rd_kafka_queue_t* queue = rd_kafka_queue_new(admin.get());
    rd_kafka_CreateTopics(admin.get(), &topic, 1, nullptr, queue);
    rd_kafka_event_t* event = rd_kafka_queue_poll(queue, 60'000);
    rd_kafka_resp_err_t error = RD_KAFKA_RESP_ERR__TIMED_OUT;
    if (event != nullptr) {
        error = rd_kafka_event_error(event);
        std::size_t count = 0;
        const auto* result = rd_kafka_event_CreateTopics_result(event);
        const auto** each = result != nullptr ? rd_kafka_CreateTopics_result_topics(result, &count) : nullptr;
        if (count == 1) error = rd_kafka_topic_result_error(each[0]);
        rd_kafka_event_destroy(event);
    }
    rd_kafka_queue_destroy(queue);
    rd_kafka_NewTopic_destroy(topic);
    check(error, "create topic " + name);
}

} // namespace kafka_soak
