#include <ekiden/postgres/detail/key_source.hpp>

#include <algorithm>
#include <mutex>
#include <utility>

namespace ekiden::inline EKIDEN_ABI::postgres::detail {

namespace {

constexpr std::chrono::seconds clean_every{60};

} // namespace

key_source::key_source(std::string queue, unsigned search, std::chrono::milliseconds poll_every)
    : queue_(std::move(queue)), search_(search), poll_every_(poll_every),
      next_clean_(sys::clock::now() + clean_every) {}

std::vector<std::string> key_source::take(connection& with, std::size_t most) {
    std::unique_lock lock(mutex_);
    while (found_.empty() && !is_stopped_) {
        if (is_searching_) {
            ready_.reset();
            lock.unlock();
            ready_.wait();
            lock.lock();
            continue;
        }
        is_searching_ = true;
        // Short pauses while records come, and longer ones in an idle queue.
        std::chrono::milliseconds pause{1};
        while (found_.empty() && !is_stopped_) {
            lock.unlock();
            std::vector<std::string> keys;
            try {
                keys = search(with);
            } catch (...) {
                lock.lock();
                is_searching_ = false; // another thread searches on
                ready_.set();
                throw;
            }
            lock.lock();
            for (std::string& key : keys)
                if (known_.insert(key).second) found_.push_back(std::move(key));
            if (!found_.empty()) break;
            lock.unlock();
            (void)stopped_.wait_for(pause);
            pause = std::min(2 * pause, poll_every_);
            lock.lock();
        }
        is_searching_ = false;
        ready_.set();
    }
    std::vector<std::string> taken;
    if (is_stopped_) return taken;
    while (!found_.empty() && taken.size() != most) {
        taken.push_back(std::move(found_.front()));
        found_.pop_front();
    }
    return taken;
}

void key_source::give_back(const std::vector<std::string>& keys, const std::vector<std::string>& again) {
    const std::lock_guard lock(mutex_);
    for (const std::string& key : keys) known_.erase(key);
    for (const std::string& key : again)
        if (known_.insert(key).second) found_.push_back(key);
    if (!found_.empty()) ready_.set();
}

void key_source::stop() {
    const std::lock_guard lock(mutex_);
    is_stopped_ = true;
    ready_.set();
    stopped_.set();
}

std::vector<std::string> key_source::search(connection& with) {
    if (sys::clock::now() >= next_clean_) clean(with);
    // Each step of the recursion reads one entry of the index, whatever the number of records of a key.
    const char* const sql = R"(
with recursive k(key, n) as (
    (select key, 1 from @record where queue = $1 and key >= $2 order by queue, key limit 1)
    union all
    select (select r.key from @record r where r.queue = $1 and r.key > k.key order by r.queue, r.key limit 1), n + 1
    from k where k.key is not null and n < $3)
select k.key, l.key is null, coalesce(l.ready <= clock_timestamp(), true)
from k left join @lane l on l.queue = $1 and l.key = k.key where k.key is not null order by k.key)";
    for (bool from_first = begin_.empty();; from_first = true) {
        const rows found = with.execute(sql, {queue_, bytea(begin_), std::to_string(search_)});
        std::vector<std::string> keys;
        array without_row;
        for (int row = 0; row != found.count(); ++row) {
            std::string key = found.bytes(row, 0);
            if (found.flag(row, 1)) without_row.add_bytes(key);
            begin_ = key + '\0'; // the next possible key
            if (found.flag(row, 2)) keys.push_back(std::move(key));
        }
        if (without_row.text() != "{}")
            with.execute(
                "insert into @lane (queue, key) select $1, k from unnest($2::bytea[]) k on conflict do "
                "nothing",
                {queue_, without_row.text()});
        const bool is_end = found.count() < static_cast<int>(search_);
        if (is_end) begin_.clear();
        if (!is_end || from_first || !keys.empty()) return keys;
    }
}

/// Removes the rows of keys without records, and of posters that have not ended as they should.
void key_source::clean(connection& with) {
    next_clean_ = sys::clock::now() + clean_every;
    with.execute(R"(
delete from @lane where (queue, key) in (
    select queue, key from @lane l where queue = $1 and failed is null and not parked
    and not exists (select from @record r where r.queue = l.queue and r.key = l.key)
    limit 10000 for update skip locked))",
                 {queue_});
    with.execute("delete from @poster where seen < now() - interval '7 days'");
}

} // namespace ekiden::inline EKIDEN_ABI::postgres::detail
