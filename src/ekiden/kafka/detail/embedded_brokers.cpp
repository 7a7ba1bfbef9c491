#include <ekiden/kafka/detail/client.hpp>
#include <ekiden/kafka/embedded_brokers.hpp>
#include <ekiden/sys/bad_argument.hpp>

#include <librdkafka/rdkafka_mock.h>

#include <stdexcept>

namespace ekiden::inline EKIDEN_ABI::kafka {

struct embedded_brokers::state {
    detail::client_handle owner; // the cluster runs in the threads of this client
    std::unique_ptr<rd_kafka_mock_cluster_t, detail::destroyed_by<rd_kafka_mock_cluster_destroy>> cluster;
};

embedded_brokers::embedded_brokers(int count) : state_(std::make_unique<state>()) {
    if (count < 1 || count > 10) sys::refuse_argument("kafka::embedded_brokers", "count", count, "1 to 10");
    rd_kafka_conf_t* const made = rd_kafka_conf_new();
    rd_kafka_conf_set_log_cb(made, [](const rd_kafka_t*, int, const char*, const char*) {});
    char reason[512];
    state_->owner.reset(rd_kafka_new(RD_KAFKA_PRODUCER, made, reason, sizeof reason));
    if (state_->owner == nullptr) {
        rd_kafka_conf_destroy(made);
        throw std::runtime_error(std::string("ekiden: kafka::embedded_brokers: ") + reason);
    }
    state_->cluster.reset(rd_kafka_mock_cluster_new(state_->owner.get(), count));
    if (state_->cluster == nullptr)
        throw std::runtime_error("ekiden: kafka::embedded_brokers: librdkafka cannot start its mock cluster");
}

embedded_brokers::~embedded_brokers() = default;

void embedded_brokers::create_topic(const std::string& topic, int partitions) {
    const std::string_view here = "kafka::embedded_brokers";
    if (!detail::is_topic_name(topic))
        sys::refuse_argument(here, "topic", '"' + topic + '"', detail::topic_names);
    if (partitions < 1 || partitions > 10'000)
        sys::refuse_argument(here, "partitions", partitions, "1 to 10000");
    const int replicas = 1;
    detail::expect_success(
        "create topic " + topic,
        rd_kafka_mock_topic_create(state_->cluster.get(), topic.c_str(), partitions, replicas));
}

settings embedded_brokers::where() const {
    return {.brokers = rd_kafka_mock_cluster_bootstraps(state_->cluster.get())};
}

} // namespace ekiden::inline EKIDEN_ABI::kafka
