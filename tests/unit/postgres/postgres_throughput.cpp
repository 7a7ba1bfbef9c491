// Compares a worker with the same statements in a loop over libpq. Measures what poison records and a slow
// key cost the other keys. Usage: postgres_throughput [RECORDS [ROUNDS]]
#include <libpq-fe.h>
#include <tests/unit/postgres/checker.hpp>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <random>
#include <stdexcept>
#include <thread>
#include <vector>

using namespace ekiden_test;
namespace pg = ekiden::postgres;
namespace records = ekiden::records;
using clock_type = std::chrono::steady_clock;
using namespace std::chrono_literals;

namespace {

constexpr int connections = 8, keys = 1000;

std::string hex(PGresult* from, int row, int column) { return PQgetvalue(from, row, column); }

/// A connection of the loop.
class bare {
public:
    explicit bare(const std::string& connection) : on_(PQconnectdb(connection.c_str())) {}
    ~bare() { PQfinish(on_); }
    bare(const bare&) = delete;
    bare& operator=(const bare&) = delete;
    PGresult* operator()(const char* sql, std::vector<const char*> with = {}) {
        PQclear(last_);
        last_ = with.empty() ? PQexec(on_, sql)
                             : PQexecParams(on_, sql, static_cast<int>(with.size()), nullptr, with.data(),
                                            nullptr, nullptr, 0);
        if (PQresultStatus(last_) != PGRES_COMMAND_OK && PQresultStatus(last_) != PGRES_TUPLES_OK)
            throw std::runtime_error(PQerrorMessage(on_));
        return last_;
    }

private:
    PGconn* on_;
    PGresult* last_ = nullptr;
};

/// Handles up to 100 records of a key with the statements of the worker. Returns whether there were any.
bool bare_transaction(bare& sql, const std::string& key) {
    const std::string array = "{\"\\" + key + "\"}";
    sql("begin");
    if (PQntuples(sql("select key, failed, attempts, parked from ekiden.lane where queue = $1 and key = "
                      "any($2::bytea[]) "
                      "and ready <= clock_timestamp() for update skip locked",
                      {"in", array.c_str()}))
        == 0) {
        sql("rollback");
        return false;
    }
    PGresult* const read =
        sql("select r.ctid, r.key, r.id, r.value, r.headers from unnest($2::bytea[]) k, lateral "
            "(select ctid, key, id, value, headers from ekiden.record where queue = $1 and key = k "
            "order by queue, key, id limit 100) r order by r.key, r.id",
            {"in", array.c_str()});
    std::string places, ids, queues, outputs, values, nothing;
    std::vector<std::string> numbers;
    for (int row = 0; row != PQntuples(read); ++row) {
        const std::string comma = row == 0 ? "" : ",";
        places += comma + '"' + PQgetvalue(read, row, 0) + '"';
        ids += comma + PQgetvalue(read, row, 2);
        queues += comma + "\"\\\\x6f7574\"";
        outputs += comma + "\"\\" + key + '"';
        values += comma + "\"\\" + hex(read, row, 3) + '"';
        nothing += comma + "NULL";
        std::string number;
        for (const char* at = PQgetvalue(read, row, 3) + 2; *at != '\0'; at += 2) number += at[1];
        numbers.push_back(number);
    }
    for (const std::string& n : numbers)
        sql("insert into applied (key, n) values ($1, $2)", {key.c_str(), n.c_str()});
    const bool any = !numbers.empty();
    if (any) {
        const auto braces = [](const std::string& list) { return '{' + list + '}'; };
        sql("delete from ekiden.record where ctid = any($1::tid[]) and id = any($2::bigint[])",
            {braces(places).c_str(), braces(ids).c_str()});
        sql("insert into ekiden.record (queue, key, value, headers) select convert_from(q, 'UTF8'), k, v, h "
            "from "
            "unnest($1::bytea[], $2::bytea[], $3::bytea[], $4::bytea[]) with ordinality as r(q, k, v, h, n) "
            "order by n "
            "returning id",
            {braces(queues).c_str(), braces(outputs).c_str(), braces(values).c_str(),
             braces(nothing).c_str()});
    }
    sql("commit");
    return any;
}

void fill(const private_server& server, int count) {
    server.sql("truncate applied, ekiden.record");
    server.sql("insert into ekiden.record (queue, key, value) select 'in', convert_to('k' || i % "
               + std::to_string(keys) + ", 'UTF8'), convert_to((1 + i / " + std::to_string(keys)
               + ")::text, 'UTF8') from generate_series(0, " + std::to_string(count - 1) + ") i order by i");
    server.sql("vacuum analyze ekiden.record");
    server.sql("insert into ekiden.lane (queue, key) select 'in', convert_to('k' || i, 'UTF8') from "
               "generate_series(0, "
               + std::to_string(keys - 1) + ") i on conflict do nothing");
    server.sql("checkpoint");
}

double bare_rate(const private_server& server, int count) {
    fill(server, count);
    const auto begin = clock_type::now();
    {
        std::vector<std::jthread> threads;
        for (int thread = 0; thread != connections; ++thread)
            threads.emplace_back([&server, thread] {
                bare sql(server.connection());
                bool any = true;
                while (any) {
                    any = false;
                    for (int key = thread; key < keys; key += connections) {
                        std::string text = "\\x6b"; // each thread has its own keys
                        for (const char digit : std::to_string(key)) text += std::string("3") + digit;
                        any = bare_transaction(sql, text) || any;
                    }
                }
            });
    }
    return count / std::chrono::duration<double>(clock_type::now() - begin).count();
}

/// Returns the records of other keys than `k0` that are handled in a second.
template <class F>
double worker_rate(const private_server& server, int count, unsigned of_connections, F f) {
    fill(server, count);
    const std::int64_t others = count - count / keys;
    const auto begin = clock_type::now();
    running_worker worker({.connection = server.connection()},
                          {.queue = "in",
                           .connections = of_connections,
                           .retry = {.attempts = 3,
                                     .delay = 10ms,
                                     .then = records::on_failure::dead_letter,
                                     .dead_letters = "dead"}},
                          f);
    while (server.number("select count(*) from ekiden.record where queue = 'in' and key <> 'k0'") != 0)
        std::this_thread::sleep_for(5ms);
    const double rate =
        static_cast<double>(others) / std::chrono::duration<double>(clock_type::now() - begin).count();
    server.sql("delete from ekiden.record where queue = 'in'"); // of the slow key
    (void)worker->close(60s);
    return rate;
}

void show(const char* what, std::vector<double> of, std::vector<double> base) {
    std::vector<double> ratios;
    for (std::size_t i = 0; i != of.size(); ++i) ratios.push_back(of[i] / base[i]);
    for (auto* const list : {&of, &base, &ratios}) std::sort(list->begin(), list->end());
    const std::size_t middle = of.size() / 2;
    std::printf("%-34s %8.0f/s, base %8.0f/s, ratio %.3f (%.3f to %.3f)\n", what, of[middle], base[middle],
                ratios[middle], ratios.front(), ratios.back());
    std::fflush(stdout);
}

} // namespace

int main(int argument_count, char** arguments) {
    if (!private_server::is_available()) return 77;
    const int count = argument_count > 1 ? std::atoi(arguments[1]) : 50'000;
    const int rounds = argument_count > 2 ? std::atoi(arguments[2]) : 5;
    const private_server server;
    make_checker(server);
    pg::create_tables({.connection = server.connection()});
    std::vector<double> bare_rates, worker_rates;
    for (int round = 0; round != rounds; ++round) {
        bare_rates.push_back(bare_rate(server, count));
        worker_rates.push_back(worker_rate(server, count, connections, apply));
    }
    show("worker beside the same statements", worker_rates, bare_rates);

    // Functions of 1 ms on 32 connections.
    const auto millisecond = [](const records::request& of, pg::reply& to) {
        apply(of, to);
        std::this_thread::sleep_for(1ms);
    };
    std::vector<double> plain, poison, slow;
    const int few = count / 2;
    for (int round = 0; round != rounds; ++round) {
        plain.push_back(worker_rate(server, few, 32, millisecond));
        poison.push_back(worker_rate(server, few, 32, [&](const records::request& of, pg::reply& to) {
            millisecond(of, to);
            // Every 10,000th record is poison, in each attempt.
            if (of.id.offset % 10'000 == 0) throw std::runtime_error("poison");
        }));
        slow.push_back(worker_rate(server, few, 32, [&](const records::request& of, pg::reply& to) {
            millisecond(of, to);
            if (of.key == "k0") std::this_thread::sleep_for(1s);
        }));
    }
    show("1 in 10,000 records is poison", poison, plain);
    show("a key is 1,000 times slower", slow, plain);
}
