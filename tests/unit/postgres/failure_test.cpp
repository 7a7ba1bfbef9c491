#include <doctest/doctest.h>
#include <ekiden/postgres.hpp>
#include <libpq-fe.h>
#include <tests/unit/postgres/checker.hpp>

#include <atomic>
#include <map>
#include <mutex>

using namespace ekiden_test;
namespace pg = ekiden::postgres;
namespace records = ekiden::records;
using namespace std::chrono_literals;

namespace {

/// Returns the values of a queue in the order of the records, separated by spaces.
std::string values(const private_server& server, const std::string& queue) {
    return server
        .sql("select coalesce(string_agg(convert_from(value, 'UTF8'), ' ' order by id), '') from "
             "ekiden.record where "
             "queue = '"
             + queue + "'")
        .at(0)
        .at(0)
        .value();
}

pg::worker_options failing(records::on_failure then, unsigned attempts = 2) {
    return {
        .queue = "in",
        .connections = 3,
        .retry = {
            .attempts = attempts, .delay = 1ms, .longest_delay = 4ms, .then = then, .dead_letters = "dead"}};
}

} // namespace

TEST_CASE("a function that throws runs again in its place, and its effects stay once") {
    if (!private_server::is_available()) return;
    const private_server server;
    make_checker(server);
    const pg::settings where{.connection = server.connection()};
    pg::poster poster(where, {.queue = "in"});
    post_numbers(poster, 7, 60);
    REQUIRE(poster.flush(120s));
    std::atomic<int> throws{0};
    std::atomic<unsigned> most{0};
    std::mutex mutex;
    std::map<std::string, int> calls;
    running_worker worker(where, failing(records::on_failure::stop),
                          [&](const records::request& of, pg::reply& to) {
                              apply(of, to); // must be rolled back
                              const std::lock_guard lock(mutex);
                              most = std::max<unsigned>(most, of.attempt);
                              if (std::stoi(std::string(of.value)) % 20 == 7
                                  && ++calls[std::string(of.key) + ' ' + std::string(of.value)] < 4) {
                                  ++throws;
                                  throw std::runtime_error("not yet");
                              }
                          });
    REQUIRE(drains(server));
    worker.end();
    CHECK(count(server, 420) == counts{});
    CHECK(throws == 7 * 3 * 3);
    CHECK(most >= 3); // `stop` goes on after two attempts
    CHECK(server.number("select count(*) from ekiden.lane where failed is not null or attempts <> 0") == 0);
}

TEST_CASE("dead_letter skips a record after its attempts, and tells where it came from") {
    if (!private_server::is_available()) return;
    const private_server server;
    const pg::settings where{.connection = server.connection()};
    pg::poster poster(where, {.queue = "in"});
    for (int n = 1; n <= 10; ++n) REQUIRE(poster.post("k", std::to_string(n), {{"traceparent", "t"}}));
    REQUIRE(poster.flush(120s));
    std::atomic<int> calls{0};
    running_worker worker(where, failing(records::on_failure::dead_letter, 3),
                          [&](const records::request& of, records::reply& to) {
                              to.post("out", "k", std::string(of.value));
                              if (of.value != "1" && of.value != "6") return; // 1 is the first of its key
                              ++calls;
                              throw std::runtime_error("poison \xff");
                          });
    REQUIRE(drains(server));
    worker.end();
    CHECK(values(server, "out") == "2 3 4 5 7 8 9 10");
    CHECK(values(server, "dead") == "1 6");
    CHECK(calls >= 6);
    CHECK(calls <= 7); // The failure inside of a batch is not counted.
    CHECK(worker->metrics().dead_letters == 2);

    records::headers with;
    running_worker undertaker(where, {.queue = "dead", .connections = 1},
                              [&](const records::request& of, records::reply&) { with = of.with; });
    REQUIRE(becomes(server, "select count(*) from ekiden.record where queue = 'dead'", 0));
    undertaker.end();
    CHECK(*find(with, "traceparent") == "t");
    CHECK(*find(with, "ekiden-topic") == "in");
    CHECK(*find(with, "ekiden-attempts") == "3");
    CHECK(*find(with, "ekiden-error") == "poison \xff");
    CHECK(std::stoi(*find(with, "ekiden-offset")) > 0);
}

TEST_CASE("park_key moves all later records in order, also after a restart of the worker") {
    if (!private_server::is_available()) return;
    private_server server;
    const pg::settings where{.connection = server.connection()};
    pg::poster poster(where, {.queue = "in"});
    const auto post = [&](int from, int to) {
        for (int n = from; n <= to; ++n)
            for (const char* key : {"good", "bad"}) REQUIRE(poster.post(key, std::to_string(n)));
        REQUIRE(poster.flush(120s));
    };
    std::atomic<int> bad{0};
    const auto f = [&](const records::request& of, records::reply& to) {
        bad += of.key == "bad";
        if (of.key == "bad" && of.value == "3") throw std::runtime_error("poison");
        if (of.key == "good") to.post("out", "good", std::string(of.value));
    };
    post(1, 5);
    {
        running_worker worker(where, failing(records::on_failure::park_key), f);
        REQUIRE(drains(server));
    }
    CHECK(values(server, "dead") == "3 4 5");
    const int before = bad;
    post(6, 9);
    server.kill();
    server.start();
    {
        running_worker worker(where, failing(records::on_failure::park_key), f);
        REQUIRE(drains(server));
        worker.end();
        CHECK(worker->metrics().dead_letters == 4);
    }
    CHECK(values(server, "dead") == "3 4 5 6 7 8 9");
    CHECK(values(server, "out") == "1 2 3 4 5 6 7 8 9");
    CHECK(bad == before); // No function ran for the parked key.

    // A worker that has no place for the records says so. It does not run them.
    post(10, 10);
    pg::worker without(where, {.queue = "in"}, f);
    CHECK_THROWS_AS(without.run(), pg::error);
    CHECK(bad == before);
    // The key is free again after this statement.
    server.sql("update ekiden.lane set parked = false");
    {
        running_worker worker(where, {.queue = "in"}, f);
        REQUIRE(drains(server));
    }
    CHECK(bad == before + 1);
}

TEST_CASE("a key that waits for its retry holds no connection, and later records wait behind it") {
    if (!private_server::is_available()) return;
    const private_server server;
    const pg::settings where{.connection = server.connection()};
    pg::poster poster(where, {.queue = "in"});
    for (int key = 0; key != 20; ++key) REQUIRE(poster.post("bad" + std::to_string(key), "1"));
    for (int key = 0; key != 20; ++key) REQUIRE(poster.post("bad" + std::to_string(key), "2"));
    REQUIRE(poster.flush(120s));
    std::atomic<int> failed{0}, second{0}, good{0};
    std::atomic<bool> heals{false};
    running_worker worker(
        where, {.queue = "in", .connections = 2, .retry = {.delay = 300ms, .longest_delay = 300ms}},
        [&](const records::request& of, records::reply&) {
            if (of.key == "good") {
                ++good;
            } else if (of.value == "2") {
                ++second;
            } else if (!heals) {
                ++failed;
                throw std::runtime_error("not yet");
            }
        });
    while (failed < 20) std::this_thread::sleep_for(1ms);
    for (int n = 0; n != 100; ++n) REQUIRE(poster.post("good", "1"));
    while (good != 100) std::this_thread::sleep_for(1ms);
    CHECK(second == 0);
    REQUIRE(becomes(server, "select count(*) from ekiden.lane where failed is not null", 20));
    CHECK(worker->metrics().partitions.at(0).retrying == 20);
    heals = true;
    REQUIRE(drains(server));
    CHECK(second == 20);
}

TEST_CASE("a function that breaks its transaction fails, whatever it has done") {
    if (!private_server::is_available()) return;
    const private_server server;
    make_checker(server);
    server.sql("create table checked (n int unique deferrable initially deferred)");
    const pg::settings where{.connection = server.connection()};
    pg::poster poster(where, {.queue = "in"});
    const std::vector<std::string> ways{"good 1",   "session", "syntax", "commit", "copy",
                                        "pipeline", "throws",  "queue",  "late",   "good 2"};
    for (const std::string& way : ways) REQUIRE(poster.post("k", way));
    REQUIRE(poster.flush(120s));
    running_worker worker(where, failing(records::on_failure::dead_letter),
                          [&](const records::request& of, pg::reply& to) {
                              PGconn* const on = to.connection();
                              if (of.value == "session") to.execute("set bytea_output = escape");
                              if (of.value == "syntax") PQclear(PQexec(on, "select from nowhere"));
                              if (of.value == "commit") PQclear(PQexec(on, "commit"));
                              if (of.value == "copy") PQclear(PQexec(on, "copy applied from stdin"));
                              if (of.value == "pipeline") (void)PQenterPipelineMode(on);
                              if (of.value == "throws") throw 1;
                              if (of.value == "queue") to.post("", "k", "");
                              if (of.value == "late") to.execute("insert into checked values (1), (1)");
                              to.post("out", "k", std::string(of.value));
                          });
    REQUIRE(drains(server));
    worker.end();
    CHECK(values(server, "out") == "good 1 session good 2");
    CHECK(values(server, "dead") == "syntax commit copy pipeline throws queue late");
}

TEST_CASE("deadlocks of functions are retried after growing delays, and count as no attempt") {
    if (!private_server::is_available()) return;
    const private_server server;
    server.sql("create table account (id int primary key, balance int not null default 0)");
    server.sql("insert into account values (0), (1)");
    server.sql("alter system set deadlock_timeout = '5ms'");
    server.sql("select pg_reload_conf()");
    const pg::settings where{.connection = server.connection()};
    pg::poster poster(where, {.queue = "in"});
    post_numbers(poster, 2, 100);
    REQUIRE(poster.flush(120s));
    // Each key changes both rows, in another order.
    running_worker worker(where, failing(records::on_failure::dead_letter, 1),
                          [](const records::request& of, pg::reply& to) {
                              const bool is_first = of.key == "k0";
                              for (const char* id : {is_first ? "0" : "1", is_first ? "1" : "0"}) {
                                  to.execute("update account set balance = balance + 1 where id = $1", {id});
                                  std::this_thread::sleep_for(200us);
                              }
                          });
    REQUIRE(drains(server));
    worker.end();
    CHECK(server.number("select min(balance) from account") == 200);
    CHECK(server.number("select max(balance) from account") == 200);
    CHECK(worker->metrics().dead_letters == 0);

    // A function that always has a conflict must not spin.
    REQUIRE(poster.post("k", "1"));
    REQUIRE(poster.flush(120s));
    pg::worker_options chosen = failing(records::on_failure::park_key, 1);
    chosen.retry.delay = 20ms;
    chosen.retry.longest_delay = 1s;
    std::mutex mutex;
    std::vector<std::chrono::steady_clock::time_point> calls;
    running_worker stuck(where, chosen, [&](const records::request& of, records::reply&) {
        CHECK(of.attempt == 1);
        const std::lock_guard guard(mutex);
        calls.push_back(std::chrono::steady_clock::now());
        if (calls.size() < 5) throw pg::error("conflict", "40001");
        throw std::runtime_error("no conflict");
    });
    REQUIRE(drains(server));
    {
        const std::lock_guard guard(mutex);
        CHECK(calls[2] - calls[1] >= 19ms); // the clock of the server may differ a little
        CHECK(calls[3] - calls[2] >= 39ms);
        CHECK(calls[4] - calls[3] >= 79ms);
    }
    REQUIRE(poster.post("k", "2"));
    REQUIRE(poster.flush(120s));
    REQUIRE(drains(server));
    stuck.end();
    CHECK(stuck->metrics().dead_letters == 2);
    CHECK(stuck->metrics().commits == 2); // of the first dead letter, and of the parked key
    CHECK(server.number("select count(*) from ekiden.lane where failed is not null or conflicts <> 0") == 0);
}

TEST_CASE("a transaction that is idle for too long ends, and another worker has its key") {
    if (!private_server::is_available()) return;
    const private_server server;
    make_checker(server);
    const pg::settings where{.connection = server.connection()};
    pg::poster poster(where, {.queue = "in"});
    post_numbers(poster, 1, 1);
    REQUIRE(poster.flush(120s));
    std::atomic<bool> begun{false}, may_end{false};
    running_worker stuck(where, {.queue = "in", .transaction_limit = 1s},
                         [&](const records::request& of, pg::reply& to) {
                             apply(of, to);
                             begun = true;
                             while (!may_end) std::this_thread::sleep_for(1ms);
                         });
    while (!begun) std::this_thread::sleep_for(1ms);
    running_worker heir(where, {.queue = "in"}, apply);
    REQUIRE(drains(server));
    may_end = true;
    stuck.end();
    heir.end();
    CHECK(count(server, 1) == counts{});
    CHECK(heir->metrics().done == 1);
}
