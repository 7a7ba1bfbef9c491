#include <ekiden/future/operation_canceled.hpp>
#include <ekiden/future/promise.hpp>
#include <ekiden/postgres/detail/connection.hpp>
#include <ekiden/postgres/poster.hpp>
#include <ekiden/sync/event.hpp>
#include <ekiden/sync/mutex.hpp>
#include <ekiden/sys/bad_argument.hpp>
#include <ekiden/sys/fork.hpp>
#include <ekiden/sys/start_thread.hpp>

#include <algorithm>
#include <deque>
#include <exception>
#include <mutex>
#include <random>
#include <span>

namespace ekiden::inline EKIDEN_ABI::postgres {

namespace {

using records::headers;
using records::outgoing;
using records::position;

void check(const poster_options& chosen) {
    const std::string_view here = "postgres::poster";
    detail::check_queue(here, "queue", chosen.queue);
    if (chosen.capacity == 0) sys::refuse_argument(here, "capacity", 0, "at least 1");
    if (chosen.capacity_bytes == 0) sys::refuse_argument(here, "capacity_bytes", 0, "at least 1");
    if (chosen.records_per_commit == 0 || chosen.records_per_commit > 100'000)
        sys::refuse_argument(here, "records_per_commit", chosen.records_per_commit, "1 to 100000");
    if (chosen.policy != when_full::reject && chosen.policy != when_full::block)
        sys::refuse_argument(here, "policy", static_cast<int>(chosen.policy),
                             "when_full::reject and when_full::block");
}

/// 128 random bits.
std::string new_id() {
    std::random_device random;
    static constexpr char digits[] = "0123456789abcdef";
    std::string id(32, '0');
    for (char& c : id) c = digits[random() % 16];
    return id;
}

void cancel(std::optional<promise<position>>& told) {
    if (told) told->set_exception(std::make_exception_ptr(operation_canceled("postgres::poster::submit")));
}

/// The number of attempts for one record whose statement is canceled each time.
constexpr unsigned most_canceled = 4;

struct waiting_record {
    outgoing record;
    std::size_t bytes = 0;
    std::optional<promise<position>> told = {};
};

} // namespace

/// The waiting records, and the thread that commits them. `mutex_` protects all members without a remark.
class poster::core {
public:
    core(const settings& where, const poster_options& chosen)
        : where_(where), chosen_(chosen), id_(new_id()) {
        check(chosen);
        create_tables(where);
        connect();
        thread_ = sys::start_thread("postgres::poster", "its thread", [this] { run(); });
    }
    ~core() {
        begin_close();
        thread_.join();
    }

    /// Takes the promise only if it returns true.
    bool add(outgoing record, std::optional<promise<position>>& told) {
        const std::size_t bytes = record.key.size() + (record.value ? record.value->size() : 0)
                                  + detail::packed(record.with).size() + 100;
        std::unique_lock lock(mutex_);
        const auto has_room = [&] {
            return count_ == 0 || (count_ < chosen_.capacity && bytes_ + bytes <= chosen_.capacity_bytes);
        };
        if (chosen_.policy == when_full::block) { // in the order of arrival
            (void)await(lock, blocked_, {},
                        [&](const waiter* self) { return closed_ || (blocked_ == self && has_room()); });
            if (blocked_ != nullptr) blocked_->changed.set(); // there may be room for it, too
        }
        if (closed_ || !has_room()) {
            ++metrics_.rejected;
            return false;
        }
        queue_.push_back({std::move(record), bytes, std::move(told)});
        ++count_;
        bytes_ += bytes;
        ++metrics_.posted;
        work_.set();
        return true;
    }

    bool flush(const wait_limit& limit) {
        std::unique_lock lock(mutex_);
        const std::uint64_t goal = metrics_.posted;
        return await(lock, flushing_, limit,
                     [&](const waiter*) { return metrics_.committed + metrics_.failed + given_up_ >= goal; });
    }

    void begin_close() {
        const std::lock_guard lock(mutex_);
        closed_ = true;
        work_.set();
        for (waiter* one = blocked_; one != nullptr; one = one->next) one->changed.set();
    }
    bool close(const wait_limit& limit) {
        begin_close();
        const bool all = flush(limit);
        if (!all) {
            const std::lock_guard lock(mutex_);
            gives_up_ = true;
            stop_.set();
            work_.set();
        }
        return all;
    }

    poster_metrics metrics() const {
        const std::lock_guard lock(mutex_);
        return metrics_;
    }
    [[nodiscard]] bool is_in_forked_child() const noexcept { return generation_ != sys::fork_generation(); }

    const poster_options& chosen() const noexcept { return chosen_; }

private:
    /// A thread that waits, in a list in the order of arrival.
    struct waiter {
        event changed = event();
        waiter* next = nullptr;
    };
    /// Waits until `holds(self)` returns true, where `self` is in the list `among`. Returns false at the
    /// limit.
    ///
    /// Only this thread resets its event. It checks `holds` and resets the event without an unlock of mutex_
    /// in between. Another thread changes the result and sets the event in the same way. So no change is
    /// missed.
    template <class Condition>
    bool await(std::unique_lock<mutex>& lock, waiter*& among, const wait_limit& limit,
               const Condition& holds) {
        waiter self;
        waiter** last = &among;
        while (*last != nullptr) last = &(*last)->next;
        *last = &self;
        bool result = holds(&self);
        for (bool is_in_time = true; !result && is_in_time; result = holds(&self)) {
            self.changed.reset();
            lock.unlock();
            is_in_time = self.changed.wait(limit);
            lock.lock();
        }
        waiter** at = &among;
        while (*at != &self) at = &(*at)->next;
        *at = self.next;
        return result;
    }

    /// Waits for records. Returns false if the thread should end.
    bool take(std::vector<waiting_record>& batch) {
        work_.wait();
        const std::lock_guard lock(mutex_);
        if (gives_up_) return false;
        const std::size_t size = std::min(queue_.size(), chosen_.records_per_commit);
        for (std::size_t i = 0; i != size; ++i) {
            batch.push_back(std::move(queue_.front()));
            queue_.pop_front();
        }
        if (queue_.empty() && !closed_) work_.reset();
        return size != 0; // an empty queue ends a closed poster
    }

    void run() {
        std::vector<waiting_record> batch;
        while (take(batch)) {
            commit(batch);
            batch.clear();
        }
        std::deque<waiting_record> left;
        {
            const std::lock_guard lock(mutex_);
            left.swap(queue_);
            given_up_ += left.size();
            leave(0, 0);
        }
        for (waiting_record& one : left) cancel(one.told);
        try {
            if (server_) server_->execute("delete from @poster where id = $1", {id_});
        } catch (const std::exception&) { // a row that stays does no harm
        }
    }

    /// Commits the records, or tells their futures what has gone wrong. If the server refuses several
    /// records, commits each half of them separately, so that only the records fail that the server refuses.
    void commit(std::span<waiting_record> batch) {
        std::vector<outgoing> sent;
        std::size_t bytes = 0;
        for (waiting_record& one : batch) {
            sent.push_back(std::move(one.record));
            bytes += one.bytes;
        }
        std::optional<std::vector<std::int64_t>> ids;
        std::exception_ptr failure;
        try {
            ids = write(sent);
        } catch (...) {
            failure = std::current_exception();
        }
        if (failure != nullptr && batch.size() > 1) {
            for (std::size_t i = 0; i != batch.size(); ++i) batch[i].record = std::move(sent[i]);
            const std::size_t half = batch.size() / 2;
            commit(batch.first(half));
            return commit(batch.subspan(half));
        }
        {
            const std::lock_guard lock(mutex_);
            (ids ? metrics_.committed : failure != nullptr ? metrics_.failed : given_up_) += batch.size();
            if (ids) ++metrics_.commits;
            leave(batch.size(), bytes);
        }
        for (std::size_t i = 0; i != batch.size(); ++i) {
            std::optional<promise<position>>& told = batch[i].told;
            if (failure != nullptr) {
                if (told) told->set_exception(failure);
            } else if (!ids) {
                cancel(told);
            } else if (told) {
                told->set_value(position{chosen_.queue, 0, (*ids)[i]});
            }
        }
    }
    void leave(std::size_t records, std::size_t bytes) { // with mutex_
        count_ -= records;
        bytes_ -= bytes;
        if (blocked_ != nullptr) blocked_->changed.set();
        for (waiter* one = flushing_; one != nullptr; one = one->next) one->changed.set();
    }

    /// Returns the ids of the records after their COMMIT, or nothing if close() gives them up. Throws error
    /// if the server refuses them, and std::bad_alloc. Then no record is in the table.
    std::optional<std::vector<std::int64_t>> write(const std::vector<outgoing>& sent) {
        const std::int64_t number = committed_ + static_cast<std::int64_t>(sent.size());
        std::optional<std::vector<std::int64_t>> ids;
        std::chrono::milliseconds delay(0);
        unsigned canceled = 0;
        while (true) {
            try {
                if (!server_) {
                    connect();
                    count(&poster_metrics::reconnects);
                    if (ids) { // The COMMIT was sent, and its answer is missing.
                        count(&poster_metrics::in_doubt);
                        if (has_committed(number)) break;
                    }
                }
                ids.reset();
                server_->execute("begin");
                auto inserted = detail::insert_records(server_->get(), where_.schema, sent);
                server_->execute(
                    "insert into @poster (id, posted) values ($1, $2) on conflict (id) do update set "
                    "posted = excluded.posted, seen = now()",
                    {id_, std::to_string(number)});
                ids = std::move(inserted);
                server_->execute("commit");
                break;
            } catch (const error& failure) {
                const bool is_lost = server_ && PQstatus(server_->get()) != CONNECTION_OK;
                // A statement that exceeds statement_timeout: smaller batches may succeed.
                const bool is_too_slow =
                    failure.sqlstate() == "57014" && (sent.size() > 1 || ++canceled == most_canceled);
                if (!server_ || is_lost || (failure.is_transient() && !is_too_slow)) {
                    server_.reset();
                } else {
                    ids.reset();
                    server_->execute("rollback");
                    throw;
                }
            } catch (...) {      // such as std::bad_alloc
                server_.reset(); // ends the transaction
                if (!ids) throw; // otherwise, the COMMIT is in doubt
            }
            delay = detail::next_delay(delay);
            if (stop_.wait_for(delay)) return {};
        }
        committed_ = number;
        return ids;
    }

    /// Ends the connection that this poster had before, and creates the row of the poster.
    void connect() {
        const std::string name = "ekiden " + id_;
        std::unique_ptr<detail::connection> fresh(new detail::connection(where_, name));
        fresh->execute("set application_name = '" + name + "'"); // also if the connection string has a name
        fresh->execute(
            "select pg_terminate_backend(pid, 10000) from pg_stat_activity where application_name = $1 and "
            "pid <> pg_backend_pid() and usename = current_user",
            {name});
        fresh->execute("insert into @poster (id, posted) values ($1, 0) on conflict do nothing", {id_});
        server_ = std::move(fresh);
    }
    /// Waits for the end of an earlier transaction of this poster, and returns whether it was committed.
    bool has_committed(std::int64_t number) {
        const auto found = server_->execute("select posted from @poster where id = $1 for update", {id_});
        return found.count() == 1 && found.number(0, 0) >= number;
    }
    void count(std::uint64_t poster_metrics::* what) {
        const std::lock_guard lock(mutex_);
        ++(metrics_.*what);
    }

    const settings where_;
    const poster_options chosen_;
    const std::string id_;
    const std::uint16_t generation_ = sys::fork_generation(); // of the process that has made the poster
    std::unique_ptr<detail::connection> server_;              // of the thread
    std::int64_t committed_ = 0;                              // of the thread

    mutable mutex mutex_;
    std::deque<waiting_record> queue_;
    std::size_t count_ = 0, bytes_ = 0; // queued or in a transaction
    std::uint64_t given_up_ = 0;
    poster_metrics metrics_;
    bool closed_ = false, gives_up_ = false;
    waiter *blocked_ = nullptr, *flushing_ = nullptr; // the threads in add(), and those in flush()
    event work_;                                      // set if records wait or the poster is closed
    event stop_;                                      // set when close() gives up
    sys::thread thread_;
};

poster::poster(const settings& where, const poster_options& chosen) : core_(new core(where, chosen)) {}
poster::~poster() {
    if (core_->is_in_forked_child()) static_cast<void>(core_.release()); // its thread is not here
}

bool poster::post(std::string_view key, std::optional<std::string_view> value, const headers& with) {
    std::optional<promise<position>> nobody;
    return core_->add({core_->chosen().queue, std::string(key), std::optional<std::string>(value), with},
                      nobody);
}

future<position> poster::submit(std::string_view key, std::optional<std::string_view> value,
                                const headers& with) {
    std::optional<promise<position>> told(std::in_place);
    future<position> result = told->get_future();
    if (!core_->add({core_->chosen().queue, std::string(key), std::optional<std::string>(value), with}, told))
        cancel(told);
    return result;
}

bool poster::flush(const wait_limit& limit) { return core_->flush(limit); }
bool poster::close(const wait_limit& limit) { return core_->close(limit); }
poster_metrics poster::metrics() const { return core_->metrics(); }

position post(pg_conn* inside, const outgoing& record, const std::string& schema) {
    detail::check_schema(schema);
    return {record.topic, 0, detail::insert_records(inside, schema, {record}).front()};
}

} // namespace ekiden::inline EKIDEN_ABI::postgres
