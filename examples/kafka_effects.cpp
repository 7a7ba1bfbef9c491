// Effects outside of Kafka: the balances of the bank are rows of PostgreSQL. Kafka can deliver a request
// again, for example after a crash. So the row of an account also stores the offset of its last request, and
// one database transaction changes both.
//
// kafka_effects BROKERS post
// kafka_effects BROKERS work CONNECTION NAME [METRICS_FILE]    each worker is a process with its own NAME
//
// The table is made by: create table balances (account text primary key, balance bigint not null,
// last bigint not null, applied bigint not null). `./dev top METRICS_FILE` shows the workers.
#include <ekiden/kafka.hpp>
#include <ekiden/pool.hpp>
#include <examples/metrics_file.hpp>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <libpq-fe.h>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>

namespace {

/// Each thread has its own connection, because a connection serves one transaction at a time.
PGconn* connection(const char* text) {
    struct closed {
        void operator()(PGconn* c) const { PQfinish(c); }
    };
    thread_local std::unique_ptr<PGconn, closed> mine;
    if (mine == nullptr || PQstatus(mine.get()) != CONNECTION_OK) mine.reset(PQconnectdb(text));
    return mine.get();
}

/// Executes one statement, which is one transaction. Throws if the statement fails, so the worker retries the
/// request.
void execute(PGconn* on, const char* sql, const std::string& account, const std::string& amount,
             const std::string& offset) {
    const char* const values[] = {account.c_str(), amount.c_str(), offset.c_str()};
    const std::unique_ptr<PGresult, void (*)(PGresult*)> result(
        PQexecParams(on, sql, 3, nullptr, values, nullptr, nullptr, 0), &PQclear);
    if (PQresultStatus(result.get()) != PGRES_COMMAND_OK) throw std::runtime_error(PQerrorMessage(on));
}

/// Adds to a balance, but never below 0. The comparison with `last` drops a request that was applied before,
/// also by another worker. The offsets of an account increase, because all its requests are in one partition.
constexpr const char* change =
    "insert into balances as b values ($1, greatest($2::bigint, 0), $3::bigint, 1) on conflict (account) do "
    "update "
    "set last = excluded.last, applied = b.applied + 1, balance = case when b.balance + $2::bigint >= 0 "
    "then b.balance + $2::bigint else b.balance end where b.last < excluded.last";

int post(const ekiden::kafka::settings& where) {
    ekiden::kafka::poster requests(where, {.topic = "accounts", .policy = ekiden::when_full::block});
    for (int i = 0; i != 1000; ++i)
        (void)requests.post("account " + std::to_string(i % 10), i % 20 < 10 ? "100" : "-100");
    return requests.flush(std::chrono::seconds(30)) ? 0 : 1;
}

int work(const ekiden::kafka::settings& where, const char* database, const std::string& name,
         const std::string& file) {
    sigset_t ends; // SIGTERM and SIGINT end the worker after a last commit
    sigemptyset(&ends);
    sigaddset(&ends, SIGTERM);
    sigaddset(&ends, SIGINT);
    pthread_sigmask(SIG_BLOCK, &ends, nullptr); // also for all threads that start later

    ekiden::thread_pool pool(8); // the function blocks, so this is the number of connections
    ekiden::kafka::worker_options chosen{.group = "bank", .topic = "accounts", .name = name};
    chosen.mode = ekiden::kafka::delivery::at_least_once;
    chosen.session = std::chrono::seconds(6); // how long the accounts of a killed worker wait
    ekiden::kafka::worker worker(where, pool.get_executor(), chosen,
                                 [&](const ekiden::kafka::request& request, ekiden::kafka::reply&) {
                                     execute(connection(database), change, std::string(request.key),
                                             std::string(request.value), std::to_string(request.id.offset));
                                 });
    std::stop_source stop;
    const metrics_file page(worker, file);
    const std::jthread watch([&](const std::stop_token& is_over) {
        constexpr timespec second{.tv_sec = 1, .tv_nsec = 0};
        while (!is_over.stop_requested())
            if (sigtimedwait(&ends, nullptr, &second) > 0) stop.request_stop();
    });
    try {
        worker.run(stop.get_token());
        return 0;
    } catch (const ekiden::kafka::error& failure) {
        std::fprintf(stderr, "%s\n", failure.what());
        return 1;
    }
}

} // namespace

int main(int count, char** arguments) {
    const std::string_view role = count > 2 ? arguments[2] : "";
    if (role == "post") return post({.brokers = arguments[1]});
    if (role == "work" && count > 4)
        return work({.brokers = arguments[1]}, arguments[3], arguments[4], count > 5 ? arguments[5] : "");
    std::fprintf(stderr, "usage: kafka_effects BROKERS post|work CONNECTION NAME [METRICS_FILE]\n");
    return 2;
}
