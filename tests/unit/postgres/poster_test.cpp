#include <doctest/doctest.h>
#include <ekiden/postgres.hpp>
#include <ekiden/postgres/detail/connection.hpp>
#include <libpq-fe.h>
#include <tests/unit/postgres/checker.hpp>
#include <tests/unit/postgres/lossy_proxy.hpp>

#include <random>

using namespace ekiden_test;
namespace pg = ekiden::postgres;
namespace records = ekiden::records;
using namespace std::chrono_literals;

namespace {

const std::string posted =
    "select id as seq, convert_from(key, 'UTF8') as key, convert_from(value, 'UTF8')::bigint as "
    "n from ekiden.record where queue = 'in'";

} // namespace

TEST_CASE("a poster commits records in order, and each future has its own place") {
    if (!private_server::is_available()) return;
    const private_server server;
    pg::poster poster({.connection = server.connection()}, {.queue = "in", .records_per_commit = 7});
    std::vector<ekiden::future<records::position>> places;
    for (int n = 1; n <= 100; ++n)
        places.push_back(poster.submit("k" + std::to_string(n % 3), std::to_string(n)));
    REQUIRE(poster.flush(120s));
    for (int n = 1; n <= 100; ++n) {
        const records::position place = places[static_cast<std::size_t>(n - 1)].get();
        CHECK(place.topic == "in");
        CHECK(server.number("select convert_from(value, 'UTF8') from ekiden.record where id = "
                            + std::to_string(place.offset))
              == n);
    }
    CHECK(poster.metrics().committed == 100);
    CHECK(poster.metrics().commits >= 15);
    CHECK(poster.close(10s));
    CHECK_FALSE(poster.post("k", "v"));
    CHECK_THROWS_AS(poster.submit("k", "v").get(), ekiden::operation_canceled);
}

TEST_CASE(
    "a record that the server refuses fails alone, and the others of its transaction keep their order") {
    if (!private_server::is_available()) return;
    const private_server server;
    const pg::settings where{.connection = server.connection()};
    pg::create_tables(where);
    std::mt19937 random;
    std::string long_key; // cannot be compressed, so it does not fit into a page of an index
    for (int i = 0; i != 4000; ++i) long_key += static_cast<char>(random());
    PGconn* const by = PQconnectdb(server.connection().c_str());
    PQclear(PQexec(by, "begin"));
    PQclear(PQexec(by, "lock table ekiden.record in exclusive mode"));
    pg::poster poster(where, {.queue = "in"});
    CHECK(poster.post("first", "0")); // While its transaction waits, the others come together.
    for (int n = 1; n <= 5; ++n) CHECK(poster.post("k", std::to_string(n)));
    ekiden::future<records::position> refused = poster.submit(long_key, "0");
    ekiden::future<records::position> last = poster.submit("k", "6");
    PQclear(PQexec(by, "commit"));
    PQfinish(by);
    REQUIRE(poster.flush(120s));
    CHECK_THROWS_AS((void)refused.get(), pg::error);
    CHECK(last.get().offset == server.number("select max(id) from ekiden.record"));
    CHECK(poster.metrics().committed == 7);
    CHECK(poster.metrics().failed == 1);
    CHECK(count_in(server, posted + " and key = 'k'", 6) == counts{});

    // The error of statement_timeout is transient, but here it comes each time.
    server.sql("create function cancel() returns trigger language plpgsql as $$ begin "
               "raise exception 'slow' using errcode = '57014'; end $$");
    server.sql("create trigger cancel before insert on ekiden.record for each row "
               "when (new.value = 'slow') execute function cancel()");
    CHECK(poster.post("k", "7"));
    ekiden::future<records::position> slow = poster.submit("k", "slow");
    CHECK(poster.post("k", "8"));
    REQUIRE(poster.close(20s));
    CHECK_THROWS_AS((void)slow.get(), pg::error);
    CHECK(poster.metrics().failed == 2);
    CHECK(count_in(server, posted + " and key = 'k'", 8) == counts{});
}

TEST_CASE("bytes, tombstones and headers reach the handler as they were posted") {
    if (!private_server::is_available()) return;
    const private_server server;
    const std::string bytes("\0\xff\\\"{},'\n:", 10);
    const records::headers with{{"traceparent", bytes}, {"a", ""}, {"a", "2"}};
    pg::poster poster({.connection = server.connection()}, {.queue = "in"});
    REQUIRE(poster.post(bytes, bytes, with));
    REQUIRE(poster.post("", std::nullopt));
    REQUIRE(poster.post("e", ""));
    REQUIRE(poster.flush(120s));
    std::atomic<int> right{0};
    running_worker worker({.connection = server.connection()}, {.queue = "in"},
                          [&](const records::request& of, records::reply&) {
                              if (of.key == bytes)
                                  right += of.value == bytes && of.with == with && *find(of.with, "a") == "2";
                              else if (of.key.empty())
                                  right += !of.has_value && of.with.empty() && of.has_key;
                              else
                                  right += of.has_value && of.value.empty() && of.id.topic == "in"
                                           && of.id.offset > 0;
                          });
    REQUIRE(drains(server));
    worker.end();
    CHECK(right == 3);
}

TEST_CASE("a full poster rejects or blocks, by count and by bytes") {
    if (!private_server::is_available()) return;
    const private_server server;
    const pg::settings where{.connection = server.connection()};
    pg::create_tables(where);
    const auto locked = [&](PGconn* by) {
        PQclear(PQexec(by, "begin"));
        PQclear(PQexec(by, "lock table ekiden.record in exclusive mode"));
    };
    PGconn* const by = PQconnectdb(server.connection().c_str());
    locked(by); // no COMMIT of the poster succeeds
    {
        pg::poster poster(where, {.queue = "in", .capacity = 3});
        for (int n = 1; n <= 3; ++n) CHECK(poster.post("k", std::to_string(n)));
        CHECK_FALSE(poster.post("k", "4"));
        CHECK_THROWS_AS(poster.submit("k", "4").get(), ekiden::operation_canceled);
        CHECK(poster.metrics().rejected == 2);
        CHECK_FALSE(poster.flush(10ms));
        PQclear(PQexec(by, "commit"));
        CHECK(poster.flush(120s));
        CHECK(poster.post("k", "4"));
    }
    CHECK(server.number("select count(*) from ekiden.record") == 4); // the destructor commits, too
    locked(by);
    {
        pg::poster poster(where, {.queue = "in", .capacity_bytes = 1000});
        CHECK(poster.post("k", std::string(600, 'x')));
        CHECK_FALSE(poster.post("k", std::string(600, 'x')));
        CHECK_FALSE(poster.post("k", std::string(2000, 'x')));
        PQclear(PQexec(by, "commit"));
        CHECK(poster.flush(120s));
        CHECK(poster.post("k", std::string(2000, 'x'))); // alone
    }
    {
        pg::poster poster(where, {.queue = "in", .capacity_bytes = 1000, .policy = ekiden::when_full::block});
        for (int n = 0; n != 3; ++n) CHECK(poster.post("k", std::string(2000, 'x'))); // one after the other
    }
    locked(by);
    {
        pg::poster poster(where, {.queue = "in", .capacity = 2, .policy = ekiden::when_full::block});
        std::atomic<int> accepted{0};
        std::jthread producer([&] {
            for (int n = 0; n != 20; ++n) accepted += poster.post("k", "x");
        });
        while (accepted != 2) std::this_thread::yield();
        PQclear(PQexec(by, "commit"));
        producer.join();
        CHECK(accepted == 20);
    }
    PQfinish(by);
}

// A thread may not have begun to wait in time, so the test has several rounds.
TEST_CASE("blocked posts are served in order, so a large record does not starve behind small ones") {
    if (!private_server::is_available()) return;
    const private_server server;
    const pg::settings where{.connection = server.connection()};
    pg::create_tables(where);
    PGconn* const by = PQconnectdb(server.connection().c_str());
    bool is_in_order = false;
    for (int round = 0; round != 20 && !is_in_order; ++round) {
        PQclear(PQexec(by, "begin"));
        PQclear(PQexec(by, "lock table ekiden.record in exclusive mode"));
        pg::poster poster(where, {.queue = "in", .capacity_bytes = 1000, .policy = ekiden::when_full::block});
        CHECK(poster.post("k", std::string(500, 'x')));
        std::jthread large([&] { CHECK(poster.post("large", std::string(800, 'x'))); });
        std::this_thread::sleep_for(20ms);
        std::jthread small([&] { CHECK(poster.post("small", "x")); }); // would have room at once
        std::this_thread::sleep_for(20ms);
        is_in_order = poster.metrics().posted == 1; // both wait
        PQclear(PQexec(by, "commit"));
        large.join();
        small.join();
        CHECK(poster.flush(120s));
        is_in_order = is_in_order
                      && server.number("select count(*) from ekiden.record l, ekiden.record s "
                                       "where l.key = 'large' and s.key = 'small' and l.id < s.id")
                             == 1;
        server.sql("delete from ekiden.record");
    }
    CHECK(is_in_order);
    PQfinish(by);
}

TEST_CASE("a blocked post returns false when the poster is closed, and close() gives up at its limit") {
    if (!private_server::is_available()) return;
    private_server server;
    pg::poster poster({.connection = server.connection()},
                      {.queue = "in", .capacity = 2, .policy = ekiden::when_full::block});
    server.kill();
    std::atomic<int> accepted{0}, refused{0};
    std::jthread producer([&] {
        for (int n = 0; n != 4; ++n) ++(poster.post("k", "x") ? accepted : refused);
    });
    while (accepted != 2) std::this_thread::yield();
    auto last = poster.metrics();
    CHECK(last.posted == 2);
    CHECK_FALSE(poster.close(50ms));
    producer.join();
    CHECK(refused == 2);
}

TEST_CASE("a poster whose COMMIT is in doubt finds out, and posts neither twice nor never") {
    if (!private_server::is_available()) return;
    private_server server;
    lossy_proxy proxy(server.folder());
    for (const lossy_proxy::loss loss :
         {lossy_proxy::loss::answer, lossy_proxy::loss::request, lossy_proxy::loss::client_only}) {
        CAPTURE(static_cast<int>(loss));
        pg::poster poster({.connection = proxy.connection()}, {.queue = "in", .records_per_commit = 10});
        server.sql("delete from ekiden.record");
        const auto before = proxy.losses();
        for (int n = 1; n <= 300; ++n) {
            if (n % 60 == 0) {
                REQUIRE(poster.flush(120s));
                proxy.lose_next(loss);
            }
            for (int key = 0; key != 3; ++key)
                REQUIRE(poster.post("k" + std::to_string(key), std::to_string(n)));
        }
        CHECK(poster.flush(120s));
        CHECK(proxy.losses() - before == 5);
        CHECK(count_in(server, posted, 900) == counts{});
        CHECK(poster.metrics().committed == 900);
        CHECK(poster.metrics().in_doubt == 5);
        CHECK(poster.metrics().reconnects >= 5);
    }
}

TEST_CASE("a poster keeps its records while the server is killed and started again") {
    if (!private_server::is_available()) return;
    private_server server;
    pg::poster poster({.connection = server.connection()}, {.queue = "in", .records_per_commit = 50});
    std::jthread producer([&] { post_numbers(poster, 5, 1000); });
    for (int i = 0; i != 3; ++i) {
        const auto before = poster.metrics().committed;
        while (poster.metrics().committed < before + 500 && poster.metrics().committed < 4500)
            std::this_thread::yield();
        server.kill();
        server.start();
    }
    producer.join();
    CHECK(poster.flush(120s));
    CHECK(count_in(server, posted, 5000) == counts{});
}

TEST_CASE("a record of a caller's transaction appears with it, or never") {
    if (!private_server::is_available()) return;
    const private_server server;
    pg::create_tables({.connection = server.connection()});
    PGconn* const mine = PQconnectdb(server.connection().c_str());
    PQclear(PQexec(mine, "begin"));
    const records::position first = pg::post(mine, {"in", "k", "1", {}});
    CHECK(server.number("select count(*) from ekiden.record") == 0);
    PQclear(PQexec(mine, "commit"));
    CHECK(server.number("select id from ekiden.record") == first.offset);
    PQclear(PQexec(mine, "begin"));
    (void)pg::post(mine, {"in", "k", "2", {}});
    PQclear(PQexec(mine, "rollback"));
    CHECK(server.number("select count(*) from ekiden.record") == 1);
    CHECK_THROWS_AS((void)pg::post(mine, {"", "k", "2", {}}), std::invalid_argument);
    const std::vector<records::outgoing> ten_bytes{{"in", "k", "12", {{"n", "v"}}}, {"in", "k", {}, {}}};
    CHECK(pg::detail::insert_records(mine, "ekiden", ten_bytes, 10).size() == 2);
    CHECK_THROWS_AS((void)pg::detail::insert_records(mine, "ekiden", ten_bytes, 9), pg::error);
    CHECK_THROWS_AS((void)pg::post(mine, {"in", "k", "2", {}}, "no_such_schema"), pg::error);
    CHECK_THROWS_AS((void)pg::post(mine, {"in", "k", "2", {}}, "no \"schema"), std::invalid_argument);
    PQfinish(mine);
}
