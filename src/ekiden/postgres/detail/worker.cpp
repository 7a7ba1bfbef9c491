#include <ekiden/observe/prometheus.hpp>
#include <ekiden/postgres/detail/worker_core.hpp>

#include <mutex>

namespace ekiden::inline EKIDEN_ABI {

namespace postgres {

std::vector<reply::row> reply::execute(const char* sql,
                                       const std::vector<std::optional<std::string>>& parameters) {
    const detail::rows found = detail::execute(connection_, sql, parameters);
    std::vector<row> result(static_cast<std::size_t>(found.count()));
    for (int i = 0; i != found.count(); ++i)
        for (int column = 0; column != PQnfields(found.get()); ++column) {
            auto& value = result[static_cast<std::size_t>(i)].emplace_back();
            if (!found.is_null(i, column)) value = found.text(i, column);
        }
    return result;
}

worker::worker(const settings& where, const worker_options& chosen, handler f, int)
    : core_(new core(where, chosen, std::move(f))) {}
worker::~worker() = default;

void worker::run(std::stop_token stop) { core_->run(std::move(stop)); }
bool worker::close(const wait_duration& limit) { return core_->close(limit); }
worker_metrics worker::metrics() const { return core_->metrics(); }

worker_metrics worker::core::metrics() const {
    worker_metrics result;
    {
        const std::lock_guard lock(mutex_);
        result = counted_;
    }
    const std::lock_guard lock(asking_);
    try {
        if (asks_ == nullptr) asks_ = std::make_unique<detail::connection>(where_, "ekiden metrics");
        const auto found =
            asks_->execute("select id, key, count(*) over (), (extract(epoch from clock_timestamp() - "
                           "posted) * 1000)::bigint from (select "
                           "id, key, posted from "
                               + table("record") + " where queue = $1 limit 100000) r order by id limit 1",
                           {chosen_.queue});
        const auto lanes = asks_->execute(
            "select count(*) filter (where failed is not null), count(*) filter (where parked) from "
                + table("lane") + " where queue = $1",
            {chosen_.queue});
        worker_metrics::backlog& queue = result.queue.emplace();
        queue.failing_keys = static_cast<std::uint64_t>(lanes.number(0, 0));
        queue.parked_keys = static_cast<std::uint64_t>(lanes.number(0, 1));
        if (found.count() == 1) {
            queue.lag = static_cast<std::uint64_t>(found.number(0, 2));
            queue.oldest = {{chosen_.queue, 0, found.number(0, 0)},
                            found.bytes(0, 1),
                            std::chrono::milliseconds(found.number(0, 3))};
        }
    } catch (const error&) { // the server is away, or there are no tables yet
        asks_.reset();
        result.queue.reset();
    }
    return result;
}

void add_metrics(prometheus_page& to, const worker_metrics& of, std::string_view queue) {
    const auto counter = [&](std::string_view name, std::string_view help, std::uint64_t value) {
        to.counter(name, help, value, {{"queue", queue}});
    };
    const auto gauge = [&](std::string_view name, std::string_view help, double value) {
        to.gauge(name, help, value, {{"queue", queue}});
    };
    counter("ekiden_postgres_records_total", "Records whose function has succeeded.", of.records);
    counter("ekiden_postgres_commits_total", "Transactions with these records.", of.commits);
    counter("ekiden_postgres_rollbacks_total", "Transactions that were rolled back.", of.rollbacks);
    counter("ekiden_postgres_failed_attempts_total", "Attempts that have failed.", of.retries);
    counter("ekiden_postgres_dead_letters_total", "Records moved to the dead letters.", of.dead_letters);
    counter("ekiden_postgres_reconnects_total", "Lost connections that were opened again.", of.reconnects);
    if (!of.queue) return;
    gauge("ekiden_postgres_lag_records", "Records that are not finished, up to 100000.",
          static_cast<double>(of.queue->lag));
    gauge("ekiden_postgres_failing_keys", "Keys that wait for a retry.",
          static_cast<double>(of.queue->failing_keys));
    gauge("ekiden_postgres_parked_keys", "Keys whose records go to the dead letters.",
          static_cast<double>(of.queue->parked_keys));
    if (!of.queue->oldest) return;
    to.gauge("ekiden_postgres_oldest_record_age_seconds", "The age of the oldest unfinished record.",
             std::chrono::duration<double>(of.queue->oldest->age).count(),
             {{"queue", queue}, {"key", of.queue->oldest->key}});
}

} // namespace postgres

} // namespace ekiden::inline EKIDEN_ABI
