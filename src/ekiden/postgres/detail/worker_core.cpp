#include <ekiden/postgres/detail/worker_core.hpp>
#include <ekiden/records/detail/failed_record.hpp>
#include <ekiden/sys/bad_argument.hpp>
#include <ekiden/sys/start_thread.hpp>

#include <algorithm>
#include <mutex>
#include <stdexcept>

namespace ekiden::inline EKIDEN_ABI::postgres {

namespace {

void check(const worker_options& chosen) {
    using namespace std::chrono_literals;
    const std::string_view here = "postgres::worker";
    const auto number = [&](const char* name, auto value, auto least, auto most) {
        if (value < least || value > most)
            sys::refuse_argument(here, name, value, std::to_string(least) + " to " + std::to_string(most));
    };
    const auto time = [&](const char* name, std::chrono::milliseconds value, std::chrono::milliseconds least,
                          std::chrono::minutes most = std::chrono::hours(24)) {
        if (value < least || value > most)
            sys::refuse_argument(here, name, std::to_string(value.count()) + " ms",
                                 std::to_string(least.count()) + " ms to " + std::to_string(most.count())
                                     + " min");
    };
    detail::check_queue(here, "queue", chosen.queue);
    number("connections", chosen.connections, 1U, 500U);
    number("records_per_commit", chosen.records_per_commit, 1U, 10'000U);
    number("keys_per_commit", chosen.keys_per_commit, 1U, 1'000U);
    time("commit_after", chosen.commit_after, 0ms);
    time("poll_every", chosen.poll_every, 1ms, 1min);
    time("transaction_limit", chosen.transaction_limit, 1s);
    const records::retry_options& retry = chosen.retry;
    number("retry.attempts", retry.attempts, 1U, 1'000'000U);
    time("retry.delay", retry.delay, 0ms);
    time("retry.longest_delay", retry.longest_delay, retry.delay);
    if (retry.then > records::on_failure::park_key)
        sys::refuse_argument(here, "retry.then", static_cast<int>(retry.then), "a value of on_failure");
    if (retry.then != records::on_failure::stop)
        detail::check_queue(here, "retry.dead_letters", retry.dead_letters);
    if (retry.dead_letters == chosen.queue)
        sys::refuse_argument(here, "retry.dead_letters", '"' + retry.dead_letters + '"', "another queue");
}

std::string text_of(const std::exception_ptr& thrown) {
    try {
        std::rethrow_exception(thrown);
    } catch (const std::exception& e) {
        std::string text = e.what();
        std::replace(text.begin(), text.end(), '\0', ' ');
        return text;
    } catch (...) {
        return "an exception that is no std::exception";
    }
}

/// Throws if a function has left its transaction in a state that cannot be committed.
void check_transaction(PGconn* server) {
    if (PQpipelineStatus(server) != PQ_PIPELINE_OFF)
        throw std::runtime_error("the function has not ended its pipeline");
    if (PQtransactionStatus(server) == PQTRANS_INERROR)
        throw std::runtime_error(std::string("a statement has failed: ") + PQerrorMessage(server));
    if (PQtransactionStatus(server) != PQTRANS_INTRANS)
        throw std::runtime_error("the function has ended the transaction");
}

} // namespace

worker::core::core(const settings& where, const worker_options& chosen, handler f)
    : where_(where), chosen_(chosen), f_(std::move(f)),
      keys_(chosen.queue, std::clamp(chosen.connections * 8, 32U, 512U), chosen.poll_every) {
    detail::check(where);
    check(chosen);
}

void worker::core::count(std::uint64_t records::worker_metrics::* what, std::uint64_t by) {
    const std::lock_guard lock(mutex_);
    counted_.*what += by;
}

// ---- the threads

void worker::core::run(std::stop_token stop) {
    {
        const std::lock_guard lock(mutex_);
        if (has_run_) throw std::logic_error("ekiden: postgres::worker: run() may be called once");
        has_run_ = true;
        if (is_closed_) return;
        ended_.reset();
    }
    std::vector<sys::thread> threads;
    {
        const std::stop_callback on_stop(stop, [this]() noexcept {
            stopping_.set();
            keys_.stop();
        });
        try {
            create_tables(where_);
            for (unsigned i = 0; i != chosen_.connections; ++i)
                threads.push_back(sys::start_thread("postgres::worker", "a thread", [this] { serve(); }));
        } catch (...) {
            end_by(std::current_exception());
        }
        for (sys::thread& one : threads) one.join();
    }
    const std::exception_ptr failure = [this] {
        const std::lock_guard lock(mutex_);
        return failure_;
    }();
    ended_.set(); // The destructor may run from now on.
    if (failure != nullptr) std::rethrow_exception(failure);
}

bool worker::core::close(const wait_limit& limit) {
    {
        const std::lock_guard lock(mutex_);
        is_closed_ = true;
        stopping_.set();
    }
    keys_.stop();
    if (ended_.wait(limit)) return true;
    given_up_.request_stop();
    return false;
}

void worker::core::end_by(std::exception_ptr failure) {
    {
        const std::lock_guard lock(mutex_);
        if (failure_ == nullptr) failure_ = std::move(failure);
    }
    stopping_.set();
    keys_.stop();
}

void worker::core::connect(session& mine) {
    mine.server = std::make_unique<detail::connection>(where_, "ekiden worker");
    mine.server->execute("set idle_in_transaction_session_timeout = "
                         + std::to_string(chosen_.transaction_limit.count()));
}

void worker::core::serve() {
    session mine;
    bool was_connected = false;
    while (!stopping_.is_set()) {
        try {
            if (mine.server == nullptr) {
                connect(mine);
                if (std::exchange(was_connected, true)) count(&records::worker_metrics::reconnects);
            }
            turn(mine);
            mine.delay = std::chrono::milliseconds(0);
        } catch (const error& failure) {
            recover(mine, failure);
        } catch (...) { // such as std::bad_alloc
            end_by(std::current_exception());
        }
    }
}

/// Runs after an error of the server that is not the fault of a function.
void worker::core::recover(session& mine, const error& failure) {
    const bool is_lost = mine.server == nullptr || PQstatus(mine.server->get()) != CONNECTION_OK;
    if (!is_lost && !failure.is_transient()) return end_by(std::current_exception());
    mine.server.reset(); // This also ends the transaction.
    mine.delay = detail::next_delay(mine.delay);
    (void)stopping_.wait_for(mine.delay);
}

void worker::core::turn(session& mine) {
    // Each key has at least one record.
    const std::vector<std::string> keys =
        keys_.take(*mine.server, std::min(chosen_.keys_per_commit, chosen_.records_per_commit));
    if (keys.empty()) return;
    std::vector<std::string> again;
    try {
        again = transact(mine, keys);
    } catch (...) {
        keys_.give_back(keys, {});
        throw;
    }
    keys_.give_back(keys, again);
}

// ---- one transaction

/// Handles records of the keys in one transaction. Returns the keys that may have more records.
std::vector<std::string> worker::core::transact(session& mine, const std::vector<std::string>& keys) {
    outcome now;
    now.begin = sys::clock::now();
    mine.server->execute("begin");
    now.lanes = lock(mine, keys);
    std::vector<std::string> again;
    // A key with a failed record has a transaction of its own, so that no other key is rolled back again.
    const auto special = std::find_if(now.lanes.begin(), now.lanes.end(),
                                      [](const lane& one) { return one.failed || one.is_parked; });
    if (special != now.lanes.end() && now.lanes.size() > 1) {
        for (const lane& one : now.lanes)
            if (one.key != special->key) again.push_back(one.key);
        now.lanes = {*special};
    }
    if (now.lanes.empty()) {
        mine.server->execute("rollback");
        return again;
    }
    const bool is_parked = now.lanes[0].is_parked;
    const std::size_t each = now.lanes[0].failed && !is_parked
                                 ? 1
                                 : std::max<std::size_t>(1, chosen_.records_per_commit / now.lanes.size());
    now.read = read(mine, now.lanes, each);
    if (is_parked)
        move_parked(now);
    else
        call(mine, now);

    if (now.reason || given_up_.stop_requested()) {
        undo(mine);
        count(&records::worker_metrics::aborts);
        if (now.reason) {
            const record& failed = now.read[now.done];
            const bool is_first = now.done == 0 || now.read[now.done - 1].key != failed.key;
            note_failure(mine, failed,
                         now.is_conflict ? fault::conflict
                         : is_first      ? fault::of_record
                                         : fault::unknown,
                         *now.reason);
        }
        return keys;
    }
    if (!finish(mine, now)) return keys;
    for (const lane& one : now.lanes) {
        const auto has_key = [&](const record& of) { return of.key == one.key; };
        const auto of_key =
            static_cast<std::size_t>(std::count_if(now.read.begin(), now.read.end(), has_key));
        const bool is_left =
            std::any_of(now.read.begin() + static_cast<std::ptrdiff_t>(now.done), now.read.end(), has_key);
        if (of_key == each || is_left) again.push_back(one.key);
    }
    return again;
}

/// Rolls back. If a function has left the connection inside a COPY or a pipeline, opens another one.
void worker::core::undo(session& mine) {
    PGconn* const server = mine.server->get();
    if (PQtransactionStatus(server) != PQTRANS_ACTIVE && PQpipelineStatus(server) == PQ_PIPELINE_OFF) {
        mine.server->execute("rollback");
        return;
    }
    const std::string old = std::to_string(PQbackendPID(server));
    connect(mine);
    mine.server->execute("select pg_terminate_backend($1, 10000)", {old}); // waits until its locks are free
}

/// Locks the rows of keys. A key that another process has is left out. The records are read by the next
/// statement, because the snapshot of this statement is older than its locks.
std::vector<worker::core::lane> worker::core::lock(session& mine, const std::vector<std::string>& keys) {
    detail::array wanted;
    for (const std::string& key : keys) wanted.add_bytes(key);
    const detail::rows found = mine.server->execute("select key, failed, attempts, parked, conflicts from "
                                                    "@lane where queue = $1 and key = any($2::bytea[]) and "
                                                    "ready <= clock_timestamp() for update skip locked",
                                                    {chosen_.queue, wanted.text()});
    std::vector<lane> lanes;
    for (int row = 0; row != found.count(); ++row) {
        lane& one = lanes.emplace_back();
        one.key = found.bytes(row, 0);
        if (!found.is_null(row, 1)) one.failed = found.number(row, 1);
        one.attempts = static_cast<unsigned>(found.number(row, 2));
        one.is_parked = found.flag(row, 3);
        one.conflicts = static_cast<unsigned>(found.number(row, 4));
    }
    return lanes;
}

/// Reads the oldest records of each key.
std::vector<worker::core::record> worker::core::read(session& mine, const std::vector<lane>& lanes,
                                                     std::size_t each) {
    detail::array wanted;
    for (const lane& one : lanes) wanted.add_bytes(one.key);
    const detail::rows found = mine.server->execute(
        "select r.ctid, r.key, r.id, r.value, r.headers from unnest($2::bytea[]) k, lateral (select ctid, "
        "key, "
        "id, value, headers from @record where queue = $1 and key = k order by queue, key, id limit $3) r "
        "order by r.key, r.id",
        {chosen_.queue, wanted.text(), std::to_string(each)});
    std::vector<record> read;
    for (int row = 0; row != found.count(); ++row) {
        record& one = read.emplace_back();
        one.ctid = found.text(row, 0);
        one.key = found.bytes(row, 1);
        one.id = found.number(row, 2);
        if (!found.is_null(row, 3)) one.value = found.bytes(row, 3);
        if (!found.is_null(row, 4)) one.with = detail::unpacked(found.bytes(row, 4));
    }
    return read;
}

/// Calls the function for the records, until one fails or the time of the transaction is over.
void worker::core::call(session& mine, outcome& now) {
    PGconn* const server = mine.server->get();
    for (const record& one : now.read) {
        if (now.done != 0 && (stopping_.is_set() || sys::clock::now() - now.begin >= chosen_.commit_after))
            return;
        const auto of =
            std::find_if(now.lanes.begin(), now.lanes.end(), [&](const lane& l) { return l.key == one.key; });
        const records::position id{chosen_.queue, 0, one.id};
        reply answer(server);
        std::exception_ptr thrown;
        running_.fetch_add(1, sys::relaxed); // relaxed is enough, because the number is only shown
        try {
            f_({.id = id,
                .key = one.key,
                .value = one.value ? std::string_view(*one.value) : std::string_view(),
                .has_value = one.value.has_value(),
                .with = one.with,
                .attempt = of->failed == one.id ? of->attempts + 1 : 1,
                .given_up = given_up_.get_token()},
               answer);
        } catch (...) {
            thrown = std::current_exception();
        }
        running_.fetch_sub(1, sys::relaxed);
        if (PQstatus(server) != CONNECTION_OK) throw error("ekiden: postgres: the connection is lost", "");
        try {
            if (thrown != nullptr) std::rethrow_exception(thrown);
            check_transaction(server);
            for (records::outgoing& sent : answer.take()) {
                detail::check_queue("postgres", "the queue of a record", sent.topic);
                now.sent.push_back(std::move(sent));
            }
        } catch (const error& failure) {
            now.reason = failure.what();
            now.is_conflict =
                failure.sqlstate().starts_with("40"); // a deadlock is not the fault of the record
        } catch (...) {
            now.reason = text_of(std::current_exception());
        }
        if (now.reason) return;
        ++now.done;
    }
}

/// Removes the records that have run, sends their results, and commits. Returns false if the transaction was
/// rolled back, because a check at its end has failed.
bool worker::core::finish(session& mine, outcome& now) {
    const lane& first = now.lanes[0];
    try {
        remove(mine, now);
        if (!now.sent.empty()) (void)detail::insert_records(mine.server->get(), where_.schema, now.sent);
        if (now.done != 0 && first.failed && !first.is_parked && now.read[0].id >= *first.failed)
            mine.server->execute(
                "update @lane set failed = null, attempts = 0, conflicts = 0, reason = null where queue = $1 "
                "and key = $2",
                {chosen_.queue, detail::bytea(first.key)});
        mine.server->execute("commit");
    } catch (const error& failure) {
        if (PQstatus(mine.server->get()) != CONNECTION_OK || failure.is_transient() || now.done == 0) throw;
        if (first.is_parked) throw;
        if (PQtransactionStatus(mine.server->get()) != PQTRANS_IDLE) mine.server->execute("rollback");
        count(&records::worker_metrics::aborts);
        // With several records, it is unknown which one is wrong. Each of them gets a transaction of its own.
        for (std::size_t i = 0; i != now.done; ++i)
            if (i + 1 == now.done || now.read[i + 1].key != now.read[i].key)
                note_failure(mine, now.read[i], now.done == 1 ? fault::of_record : fault::unknown,
                             failure.what());
        return false;
    }
    const std::lock_guard lock(mutex_);
    if (now.done != 0) ++counted_.commits;
    if (first.is_parked) {
        counted_.dead_letters += now.done;
    } else {
        const auto ns = static_cast<std::uint64_t>((sys::clock::now() - now.begin).count());
        counted_.in_lanes.counts[histogram_snapshot::bucket_of(ns)] += now.done;
        counted_.in_lanes.sum_ns += ns * now.done;
        counted_.done += now.done;
    }
    return true;
}

void worker::core::remove(session& mine, const outcome& now) {
    if (now.done == 0) return;
    detail::array places, ids;
    for (std::size_t i = 0; i != now.done; ++i) {
        places.add_text(now.read[i].ctid);
        ids.add(now.read[i].id);
    }
    // The place of a row finds it without a plan that depends on statistics.
    const auto deleted =
        mine.server->execute("delete from @record where ctid = any($1::tid[]) and id = any($2::bigint[])",
                             {places.text(), ids.text()});
    if (deleted.changed() != static_cast<std::int64_t>(now.done))
        throw error("ekiden: postgres: a record has disappeared while its function ran", "40001");
}

// ---- failures

/// Moves the records of a parked key to the dead letters.
void worker::core::move_parked(outcome& now) {
    if (chosen_.retry.dead_letters.empty())
        throw error("ekiden: postgres::worker: the queue has parked keys, so retry.dead_letters is needed",
                    "0A000");
    for (const record& one : now.read) now.sent.push_back(dead_letter(one, 0, "the key is parked"));
    now.done = now.read.size();
}

records::outgoing worker::core::dead_letter(const record& of, unsigned attempts,
                                            const std::string& reason) const {
    records::outgoing letter{chosen_.retry.dead_letters, of.key, of.value, of.with};
    records::detail::add_origin(letter.with, {chosen_.queue, 0, of.id}, attempts, reason);
    return letter;
}

/// Records in the row of the key that a record has failed. Decides whether it runs again, and when. From then
/// on, the record has a transaction of its own.
void worker::core::note_failure(session& mine, const record& of, fault why, const std::string& reason) {
    mine.server->execute("begin");
    const std::vector<lane> locked = lock(mine, {of.key});
    if (locked.empty()) { // Another process has the key, and finds the failure itself.
        mine.server->execute("rollback");
        return;
    }
    const records::retry_options& retry = chosen_.retry;
    const bool counts = why == fault::of_record, is_conflict = why == fault::conflict;
    const bool is_again = locked[0].failed == of.id;
    const unsigned attempts = (is_again ? locked[0].attempts : 0) + (counts ? 1 : 0);
    const unsigned conflicts = (is_again ? locked[0].conflicts : 0) + (is_conflict ? 1 : 0);
    if (counts && attempts >= retry.attempts && retry.then != records::on_failure::stop)
        return bury(mine, of, attempts, reason);
    if (counts) count(&records::worker_metrics::retries); // the function is called again
    std::chrono::milliseconds delay(0);
    if (counts) delay = records::detail::delay_after(attempts, retry);
    // The first conflict is usually the last one. A function that always has a conflict must not spin.
    if (is_conflict && conflicts > 1) delay = records::detail::delay_after(conflicts - 1, retry);
    // Bytes that are no UTF-8 would be refused.
    mine.server->execute("update @lane set failed = $3, attempts = $4, conflicts = $7, "
                         "ready = clock_timestamp() + $5::bigint * interval '1 ms', "
                         "reason = encode($6, 'escape') where queue = $1 and key = $2",
                         {chosen_.queue, detail::bytea(of.key), std::to_string(of.id),
                          std::to_string(attempts), std::to_string(delay.count()), detail::bytea(reason),
                          std::to_string(conflicts)});
    mine.server->execute("commit");
}

/// Moves the record to the dead letters, and commits.
void worker::core::bury(session& mine, const record& of, unsigned attempts, const std::string& reason) {
    const auto gone = mine.server->execute("delete from @record where queue = $1 and key = $2 and id = $3",
                                           {chosen_.queue, detail::bytea(of.key), std::to_string(of.id)});
    if (gone.changed() != 1) {
        mine.server->execute("rollback");
        return;
    }
    (void)detail::insert_records(mine.server->get(), where_.schema, {dead_letter(of, attempts, reason)});
    mine.server->execute(
        "update @lane set failed = null, attempts = 0, conflicts = 0, ready = "
        "'-infinity', parked = $3, reason = encode($4, 'escape') where queue = $1 and key = $2",
        {chosen_.queue, detail::bytea(of.key),
         chosen_.retry.then == records::on_failure::park_key ? "true" : "false", detail::bytea(reason)});
    mine.server->execute("commit");
    count(&records::worker_metrics::dead_letters);
    count(&records::worker_metrics::commits);
}

} // namespace ekiden::inline EKIDEN_ABI::postgres
