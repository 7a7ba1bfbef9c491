/// The posters and the readers of the soak, on plain librdkafka.
#pragma once

#include <tests/kafka/books.hpp>
#include <tests/kafka/client.hpp>

#include <functional>
#include <stop_token>
#include <string>
#include <vector>

namespace kafka_soak {

/// Creates the three topics of the run. Each broker has a replica.
void create_topics(const plan& p);

/// Sends the records of one poster, as fast as the backlog allows. Returns when the brokers have all of them.
void post_all(books& all, std::uint32_t poster, const std::stop_token& stop);

/// Reads the committed outputs from their beginning. Calls `f` with each record and whether it is a dead
/// letter. After the end of all partitions, asks `is_done` whether to return.
void read_outputs(const plan& p, const std::function<void(const input&, bool)>& f,
                  const std::function<bool()>& is_done);

/// Returns how many records of the input the group has not committed.
std::int64_t lag_of(const plan& p);

/// Returns the broker that leads a partition of the input.
int leader_of(const plan& p, int partition);

} // namespace kafka_soak
