#include <ekiden/postgres/detail/worker_core.hpp>

#include <mutex>

namespace ekiden::inline EKIDEN_ABI::postgres {

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
worker::~worker() {
    if (core_->is_in_forked_child()) static_cast<void>(core_.release()); // its threads are not here
}

void worker::run(std::stop_token stop) { core_->run(std::move(stop)); }
bool worker::close(const wait_limit& limit) { return core_->close(limit); }
records::worker_metrics worker::metrics() const { return core_->metrics(); }

records::worker_metrics worker::core::metrics() const {
    records::worker_metrics result;
    {
        const std::lock_guard lock(mutex_);
        result = counted_;
    }
    const std::lock_guard lock(asking_);
    try {
        if (asks_ == nullptr) asks_ = std::make_unique<detail::connection>(where_, "ekiden metrics");
        const auto found = asks_->execute(
            "select id, key, count(*) over (), (extract(epoch from clock_timestamp() - posted) * 1000)"
            "::bigint from (select id, key, posted from @record where queue = $1 limit 100000) r "
            "order by id limit 1",
            {chosen_.queue});
        const auto lanes =
            asks_->execute("select count(*) filter (where failed is not null), count(*) filter "
                           "(where parked) from @lane where queue = $1",
                           {chosen_.queue});
        records::partition_metrics queue;
        queue.topic = chosen_.queue;
        queue.running = running_.load(sys::relaxed);
        queue.retrying = static_cast<std::size_t>(lanes.number(0, 0));
        queue.parked = static_cast<std::size_t>(lanes.number(0, 1));
        queue.lag = found.count() == 0 ? 0 : found.number(0, 2);
        if (found.count() == 1) {
            queue.oldest_offset = found.number(0, 0);
            queue.oldest_key = found.bytes(0, 1);
            queue.oldest_age = std::chrono::milliseconds(found.number(0, 3));
        }
        result.partitions.push_back(std::move(queue));
    } catch (const error&) { // the server is away, or there are no tables yet
        asks_.reset();
    }
    return result;
}

} // namespace ekiden::inline EKIDEN_ABI::postgres
