#include <ekiden/records/worker_metrics.hpp>

namespace ekiden::inline EKIDEN_ABI::records {

std::string_view name_of(partition_state state) noexcept {
    switch (state) {
    case partition_state::loading:
        return "loading";
    case partition_state::running:
        return "running";
    case partition_state::revoking:
        return "revoking";
    case partition_state::lost:
        return "lost";
    }
    return "";
}

std::string_view name_of(pause_reason reason) noexcept {
    switch (reason) {
    case pause_reason::none:
        return "";
    case pause_reason::count:
        return "count";
    case pause_reason::bytes:
        return "bytes";
    case pause_reason::window:
        return "window";
    case pause_reason::state:
        return "state";
    }
    return "";
}

namespace {

void add_partition(prometheus_page& to, const partition_metrics& of, std::string_view worker) {
    const std::string partition = std::to_string(of.partition);
    const auto gauge = [&](std::string_view name, std::string_view help, double value) {
        to.gauge(name, help, value, {{"worker", worker}, {"topic", of.topic}, {"partition", partition}});
    };
    const auto count = [&](std::string_view name, std::string_view help, std::size_t value) {
        gauge(name, help, static_cast<double>(value));
    };
    to.gauge("ekiden_worker_partition_state", "1 with the state and the reason of a pause as labels.", 1,
             {{"worker", worker},
              {"topic", of.topic},
              {"partition", partition},
              {"state", name_of(of.state)},
              {"paused", name_of(of.paused)}});
    if (of.lag >= 0)
        gauge("ekiden_worker_lag_records", "Records from the oldest one that is not done to the newest one.",
              static_cast<double>(of.lag));
    count("ekiden_worker_held_records", "Records in memory.", of.held);
    count("ekiden_worker_held_bytes", "Bytes of the records in memory.", of.held_bytes);
    count("ekiden_worker_running_records", "Records whose function runs.", of.running);
    count("ekiden_worker_retrying_keys", "Keys that wait for a retry.", of.retrying);
    count("ekiden_worker_parked_keys", "Keys whose records go to the topic of dead letters.", of.parked);
    if (of.oldest_offset >= 0) {
        to.gauge("ekiden_worker_oldest_age_seconds", "Age of the oldest record that is not done.",
                 std::chrono::duration<double>(of.oldest_age).count(),
                 {{"worker", worker}, {"topic", of.topic}, {"partition", partition}, {"key", of.oldest_key}});
        gauge("ekiden_worker_oldest_offset", "Offset of the oldest record that is not done.",
              static_cast<double>(of.oldest_offset));
    }
    if (of.hot_key_held != 0)
        to.gauge("ekiden_worker_hot_key_records", "Records of the key with the most records behind a retry.",
                 static_cast<double>(of.hot_key_held),
                 {{"worker", worker}, {"topic", of.topic}, {"partition", partition}, {"key", of.hot_key}});
}

} // namespace

void add_metrics(prometheus_page& to, const worker_metrics& of, std::string_view worker) {
    const auto counter = [&](std::string_view name, std::string_view help, std::uint64_t value) {
        to.counter(name, help, value, {{"worker", worker}});
    };
    counter("ekiden_worker_records_done_total", "Records whose function has succeeded.", of.done);
    counter("ekiden_worker_retries_total", "Calls after the first call for a record.", of.retries);
    counter("ekiden_worker_dead_letters_total", "Records sent to the topic of dead letters.",
            of.dead_letters);
    counter("ekiden_worker_repeated_total", "Done records that another worker handles again.", of.repeated);
    counter("ekiden_worker_given_up_total", "Received records that were given up.", of.given_up);
    counter("ekiden_worker_commits_total", "Successful commits or transactions.", of.commits);
    counter("ekiden_worker_aborts_total", "Transactions that were rolled back.", of.aborts);
    counter("ekiden_worker_fenced_total", "Refusals because another worker has taken over.", of.fenced);
    counter("ekiden_worker_reconnects_total", "New connections or producers after an error.", of.reconnects);
    counter("ekiden_worker_rebalances_total", "Changes of the set of partitions.", of.rebalances);
    to.histogram("ekiden_worker_lane_seconds", "From the receipt of a record to the end of its function.",
                 of.in_lanes, {{"worker", worker}});
    for (const partition_metrics& partition : of.partitions) add_partition(to, partition, worker);
}

} // namespace ekiden::inline EKIDEN_ABI::records
