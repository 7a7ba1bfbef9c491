/// Brokers inside the process, for the first steps and for tests without Kafka.
///
/// Part: kafka. Used by: programs. The brokers are the mock cluster of librdkafka.
#pragma once

#include <ekiden/kafka/settings.hpp>

#include <memory>
#include <string>

namespace ekiden::inline EKIDEN_ABI::kafka {

/// Brokers that keep their records in the memory of this process. Posters and workers reach them over the
/// loopback interface, also from other processes.
///
/// The brokers support records, groups, and commits, so `delivery::at_least_once` works as with real brokers.
/// They only pretend to have transactions: they store no offsets of transactions, fence no producer, and show
/// aborted records. So they cannot show what `delivery::exactly_once` promises.
class embedded_brokers {
public:
    /// Starts `count` brokers. Throws std::invalid_argument if `count` is not 1 to 10, and std::runtime_error
    /// if librdkafka has no mock cluster.
    explicit embedded_brokers(int count = 1);
    ~embedded_brokers();
    embedded_brokers(const embedded_brokers&) = delete;
    embedded_brokers& operator=(const embedded_brokers&) = delete;

    /// Creates a topic with 1 to 10,000 partitions. Without this call, the first use of a topic creates it
    /// with 4 partitions. Throws std::invalid_argument if the name or the number is not allowed, and
    /// kafka::error if the topic exists.
    void create_topic(const std::string& topic, int partitions);
    /// Returns the settings for posters and workers.
    [[nodiscard]] settings where() const;

private:
    struct state;
    std::unique_ptr<state> state_;
};

} // namespace ekiden::inline EKIDEN_ABI::kafka
