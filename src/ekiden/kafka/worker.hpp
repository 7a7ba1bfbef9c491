/// Handles the records of a topic of Kafka in lanes: one process of a group.
///
/// Part: kafka. Used by: programs.
#pragma once

#include <ekiden/execution/executor.hpp>
#include <ekiden/kafka/detail/record_lanes.hpp>
#include <ekiden/kafka/error.hpp>
#include <ekiden/kafka/settings.hpp>
#include <ekiden/records/retry_options.hpp>
#include <ekiden/records/worker_metrics.hpp>
#include <ekiden/sync/wait_limit.hpp>

#include <chrono>
#include <cstddef>
#include <memory>
#include <stop_token>
#include <string>
#include <utility>

namespace ekiden::inline EKIDEN_ABI::kafka {

using records::retry_options;
using records::worker_metrics;

/// How often the effects of a record happen.
enum class delivery : std::uint8_t {
    /// The records of the reply and the progress are one transaction. Consumers that read committed records
    /// see the reply once. The function itself may run again after a crash.
    exactly_once,
    /// The reply is sent, and then the progress is committed. After a crash, some records run again and send
    /// their replies again. For other effects, such as rows of a database, request::id is the token: an
    /// effect that stores the token can be recognized.
    at_least_once,
};

/// The options of a worker. The constructor of the worker checks all of them.
struct worker_options {
    std::string group; ///< The workers of a group share the partitions of the topic. Required.
    std::string topic; ///< The topic whose records are handled. Required.
    /// The name of this worker. The name must be unique in the group and the same after a restart. A second
    /// worker with the name fences the first one. The transactional id is "<group>.<name>", and must be
    /// unique among all groups of the brokers. Required for exactly_once.
    std::string name = {};
    delivery mode = delivery::exactly_once; ///< how often effects happen
    /// The number of offsets from the oldest record that is not done to the newest record that may begin, for
    /// each partition. 1 to 24,000.
    std::size_t window = 20'000;
    std::size_t held = 10'000; ///< the maximum number of records in memory for each partition
    /// The maximum number of bytes of these records, with their headers, and of the outputs that wait for a
    /// commit. With more bytes, the partition pauses: records that have begun still add their outputs.
    std::size_t held_bytes = 16U << 20;
    std::chrono::milliseconds commit_every{100}; ///< The time between commits, 1 ms to 1 min.
    /// The time for which a revoked partition waits for its running functions, 0 ms to 1 h. The other workers
    /// of the group wait meanwhile.
    std::chrono::milliseconds revoke_limit{30'000};
    /// After this time without a sign of life, other workers get the partitions. 1 s to 30 minutes, within
    /// the limits of the brokers.
    std::chrono::milliseconds session{10'000};
    /// The brokers abort a transaction that is older. So after a crash, the next worker waits for at most
    /// this time. 1 s to 15 minutes.
    std::chrono::milliseconds transaction_limit{10'000};
    retry_options retry = {}; ///< what happens after a function has thrown
    /// Keys move to other partitions if the topic gets more partitions, so their order breaks. A worker
    /// normally ends with an error then. If true, the worker continues.
    bool allow_growth = false;
};

/// Receives records of one topic and calls a function for each of them. Records with the same key run in the
/// order of their offsets, one at a time. Records with different keys run in parallel, also if they are in
/// one partition. The order holds within a partition.
///
/// The function is `f(const request&, reply&)`, and returns void or coroutine<>. The function runs on the
/// inner executor, in the lane of its key. A coroutine keeps its lane until it has ended. If the function
/// throws, it is retried, see retry_options. `f` may be called by several threads at the same time.
///
/// If the brokers refuse the records of a reply, for example because their topic does not exist, the commit
/// fails. After retry_options::attempts failures, a dead letter takes the place of the reply. With
/// on_failure::stop, no record of this worker is committed until the topic exists.
///
/// A record is done when its function has ended. The worker commits the offset below which all records are
/// done. The metadata of the commit says which later records are done, so a restart repeats little. The
/// number of records in memory is bounded, see worker_options.
///
/// Thread safety: all members except the destructor may be called concurrently.
/// Lifetime: the inner context must run the functions until the destructor has returned. The destructor waits
/// for running functions. In the child of a fork(), the only allowed call is the destructor, which then does
/// nothing.
template <ekiden::executor Executor = any_executor>
class worker {
public:
    /// Makes a worker. Throws std::invalid_argument for a setting or an option that is not allowed, before
    /// the first connection. Throws std::system_error if the system refuses a thread.
    template <class F>
    worker(const settings& where, const Executor& inner, const worker_options& chosen, F&& f)
        : driver_(detail::make_driver(
              where, chosen,
              std::make_unique<detail::record_lanes<Executor, std::decay_t<F>>>(inner, std::forward<F>(f)))) {
    }
    /// Closes the worker, and waits until no function runs.
    ~worker() { detail::destroy(std::move(driver_)); }
    worker(const worker&) = delete;
    worker& operator=(const worker&) = delete;

    /// Joins the group and handles records, until a stop is requested or close() is called. Then begins no
    /// further function, waits for the running functions up to worker_options::revoke_limit, commits, and
    /// leaves the group. The calling thread receives the records meanwhile. Throws kafka::error if the worker
    /// cannot continue: `fenced` if another worker has the same name, otherwise `fatal`. Throws
    /// std::system_error if the system refuses a thread. Throws std::logic_error if run() was called before.
    /// If close() was called before the first run(), run() returns at once.
    void run(std::stop_token stop = {}) { detail::run(*driver_, std::move(stop)); }
    /// Begins no further function, waits for the running functions until the limit, commits, and leaves the
    /// group. Then run() returns. If the limit has no deadline, the functions have
    /// worker_options::revoke_limit. A stop request that came before, or an earlier close(), has set the
    /// limit of the functions. Returns true if no function runs any more, all results are committed, and the
    /// group was left. Returns false at the limit.
    [[nodiscard]] bool close(const wait_limit& limit) { return detail::close(*driver_, limit); }
    [[nodiscard]] bool close(const wait_duration& limit) {
        return close(static_cast<const wait_limit&>(limit));
    }

    /// Returns the counters and the progress of each partition. The values are at most 200 ms old while
    /// run() polls.
    [[nodiscard]] worker_metrics metrics() const { return detail::metrics(*driver_); }

private:
    std::shared_ptr<detail::worker_driver> driver_;
};

} // namespace ekiden::inline EKIDEN_ABI::kafka
