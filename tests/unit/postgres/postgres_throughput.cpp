// Compares a worker with the same statements in a loop over libpq. Measures what poison records and a slow
// key cost the other keys. Usage: postgres_throughput [RECORDS [ROUNDS]]
#include <libpq-fe.h>
#include <tests/unit/postgres/checker.hpp>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <fstream>
#include <random>
#include <stdexcept>
#include <sys/resource.h>
#include <thread>
#include <unistd.h>
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

struct speed {
    double records;   // of other keys than `k0`, per second
    double processor; // seconds of processor time for each of these records
};

/// Returns the processor time of this process and of the server's processes that have ended.
double processor_seconds(const private_server& server) {
    std::string pid, field;
    std::getline(std::ifstream(server.folder() + "/data/postmaster.pid"), pid);
    std::ifstream stat("/proc/" + pid + "/stat");
    double ticks = 0;
    for (int i = 1; i <= 17 && stat >> field; ++i)
        if (i >= 16) ticks += std::stod(field); // cutime and cstime
    rusage mine{};
    ::getrusage(RUSAGE_SELF, &mine);
    const auto seconds = [](const timeval& t) {
        return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
    };
    return ticks / static_cast<double>(::sysconf(_SC_CLK_TCK)) + seconds(mine.ru_utime)
           + seconds(mine.ru_stime);
}

speed bare_rate(const private_server& server, int count) {
    fill(server, count);
    const double processor = processor_seconds(server);
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
    const auto time = clock_type::now() - begin;
    std::this_thread::sleep_for(200ms); // The server's processes end.
    return {count / std::chrono::duration<double>(time).count(),
            (processor_seconds(server) - processor) / count};
}

/// What a function does for each record.
enum class work : std::uint8_t { nothing, millisecond };
/// What is wrong with some records.
enum class trouble : std::uint8_t { none, poison, slow_key };

/// Measures a worker. The function counts the records itself, because a query for their number would take
/// processor time from the worker.
speed measure(const private_server& server, int count, unsigned of_connections, work what, trouble with) {
    fill(server, count);
    const int each = count / keys;
    std::vector<std::atomic<bool>> seen(static_cast<std::size_t>(count + keys));
    std::atomic<int> left{count - each};
    const auto f = [&](const records::request& of, pg::reply& to) {
        apply(of, to);
        if (what == work::millisecond) std::this_thread::sleep_for(1ms);
        const int key = std::stoi(std::string(of.key.substr(1))), n = std::stoi(std::string(of.value));
        // Every 10,000th record is poison, in each attempt.
        const bool is_poison = with == trouble::poison && of.id.offset % 10'000 == 0;
        if (key != 0 && !seen[static_cast<std::size_t>(key * each + n)].exchange(true)) {
            --left;
            left.notify_all();
        }
        if (is_poison) throw std::runtime_error("poison");
        if (key == 0 && with == trouble::slow_key) std::this_thread::sleep_for(1s);
    };
    const double processor = processor_seconds(server);
    const auto begin = clock_type::now();
    running_worker worker({.connection = server.connection()},
                          {.queue = "in",
                           .connections = of_connections,
                           .retry = {.attempts = 3,
                                     .delay = 10ms,
                                     .then = records::on_failure::dead_letter,
                                     .dead_letters = "dead"}},
                          f);
    for (int now = left; now != 0; now = left) left.wait(now);
    const auto time = clock_type::now() - begin;
    (void)worker->close(60s);
    std::this_thread::sleep_for(200ms); // The server's processes end.
    const double others = count - each;
    const speed result{others / std::chrono::duration<double>(time).count(),
                       (processor_seconds(server) - processor) / others};
    if (with == trouble::poison && worker->metrics().retries == 0)
        throw std::runtime_error("there was no poison");
    return result;
}

/// Shows the medians, and the smallest and the largest ratio of two runs of the same round.
void show(const char* what, const std::vector<speed>& of, const std::vector<speed>& base) {
    const std::size_t size = of.size();
    std::vector<double> rates, times;
    for (std::size_t i = 0; i != size; ++i) {
        rates.push_back(of[i].records / base[i].records);
        times.push_back(base[i].processor / of[i].processor);
    }
    std::sort(rates.begin(), rates.end());
    std::sort(times.begin(), times.end());
    const auto median = [](std::vector<speed> list) {
        std::sort(list.begin(), list.end(), [](auto& a, auto& b) { return a.records < b.records; });
        return list[list.size() / 2].records;
    };
    std::printf("%-34s %7.0f/s of %7.0f/s: %.3f (%.3f to %.3f); per processor time %.3f (%.3f to %.3f)\n",
                what, median(of), median(base), rates[size / 2], rates.front(), rates.back(), times[size / 2],
                times.front(), times.back());
    std::fflush(stdout);
}

} // namespace

int main(int argument_count, char** arguments) {
    if (!private_server::is_available()) return 77;
    const int count = argument_count > 1 ? std::atoi(arguments[1]) : 50'000;
    const int rounds = argument_count > 2 ? std::atoi(arguments[2]) : 7;
    const private_server server;
    make_checker(server);
    pg::create_tables({.connection = server.connection()});
    std::vector<speed> bare_rates, worker_rates;
    for (int round = 0; round != rounds; ++round) {
        bare_rates.push_back(bare_rate(server, count));
        worker_rates.push_back(measure(server, count, connections, work::nothing, trouble::none));
    }
    show("worker beside the same statements", worker_rates, bare_rates);

    // A slow key takes one connection. So a worker with one connection less shows what else it costs.
    struct {
        const char* name;
        work what;
        unsigned connections;
    } const kinds[] = {{"functions of 0 ms, 8 connections", work::nothing, 8},
                       {"functions of 1 ms, 8 connections", work::millisecond, 8},
                       {"functions of 1 ms, 32 connections", work::millisecond, 32}};
    for (const auto& [name, what, of] : kinds) {
        std::vector<speed> plain, fewer, poison, slow;
        for (int round = 0; round != rounds; ++round) {
            plain.push_back(measure(server, count, of, what, trouble::none));
            slow.push_back(measure(server, count, of, what, trouble::slow_key));
            fewer.push_back(measure(server, count, of - 1, what, trouble::none));
            poison.push_back(measure(server, count, of, what, trouble::poison));
        }
        std::puts(name);
        show("  1 in 10,000 records is poison", poison, plain);
        show("  a key is 1,000 times slower", slow, plain);
        show("  beside one connection less", slow, fewer);
    }
}
