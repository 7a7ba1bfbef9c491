/// The logic of the Kafka worker with simulated brokers. consume() is one run for sim::explore.
#pragma once

#include <ekiden/sim/explore.hpp>

namespace sim_kafka {

/// Two or three workers handle the records of up to three partitions, in both modes. The seed stops, kills
/// and restarts workers, moves partitions, lets calls fail or time out, delays, loses and repeats messages,
/// lets functions fail, and leaves holes in the offsets. These conditions must hold:
///
/// * Each record is handled. In the mode exactly once, readers of committed records see the result of each
///   record once, and the results of a key in the order of its records.
/// * In a process, functions of a key do not overlap. In an assignment they run in order, and once per
/// record,
///   except retries.
/// * In the mode at least once, a function runs again only if its record was not committed.
/// * No commit names a partition that the worker has lost or given back.
/// * A partition holds at most as many records as allowed, and the metadata always fits.
/// * After all, the committed offset of each partition is its end. A worker that closes cleanly has committed
///   everything that it has done. All memory of records is freed.
void consume(ekiden::sim_context& outside);

/// A commit with foreign or newer metadata: the partition does not start, and its commit stays as it is.
void refuse(ekiden::sim_context& outside);

/// One record is stuck: other keys continue to the end of the window, other partitions to their end.
void stick(ekiden::sim_context& outside);

/// Returns the options for the seeds, including the kinds of faults.
[[nodiscard]] ekiden::sim::options options_of(std::uint64_t seeds);

} // namespace sim_kafka
