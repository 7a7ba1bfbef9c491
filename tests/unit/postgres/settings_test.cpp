#include <doctest/doctest.h>
#include <ekiden/postgres.hpp>
#include <tests/unit/postgres/checker.hpp>

#include <functional>
#include <limits>
#include <thread>

using ekiden_test::private_server;
namespace pg = ekiden::postgres;
namespace records = ekiden::records;
using namespace std::chrono_literals;

namespace {

/// Returns the message of the exception, or what was thrown instead.
std::string refusal(const std::function<void()>& call) {
    try {
        call();
    } catch (const std::invalid_argument& e) {
        return e.what();
    } catch (const std::exception& e) {
        return std::string("other: ") + e.what();
    }
    return "nothing";
}
bool names(const std::string& message, const std::string& option) {
    CAPTURE(message);
    return message.find(option) != std::string::npos && message.find("allowed is") != std::string::npos
           && !message.starts_with("other");
}

} // namespace

TEST_CASE("a bad setting is refused before the first connection, by its name") {
    const pg::settings nowhere{.connection = "host=/nowhere"};
    const auto with = [&](auto change) {
        pg::settings where = nowhere;
        change(where);
        return refusal([&] { pg::create_tables(where); });
    };
    CHECK(names(with([](auto& s) { s.connection = ""; }), "connection"));
    CHECK(names(with([](auto& s) { s.connection = "no connection string"; }), "connection"));
    CHECK(names(with([](auto& s) { s.schema = "Upper"; }), "schema"));
    CHECK(names(with([](auto& s) { s.schema = "a; drop table x"; }), "schema"));
    CHECK(names(with([](auto& s) { s.schema = ""; }), "schema"));
    CHECK(with([](auto&) {}).starts_with("other: ekiden: postgres: cannot connect"));
    const std::string secret = with([](auto& s) { s.connection = "password=secret nonsense"; });
    CHECK(secret.find("secret ") == std::string::npos);
}

TEST_CASE("a bad option of a poster or a worker is refused before the first connection") {
    const pg::settings nowhere{.connection = "host=/nowhere"};
    const auto poster = [&](auto change) {
        pg::poster_options chosen{.queue = "in"};
        change(chosen);
        return refusal([&] { const pg::poster made(nowhere, chosen); });
    };
    CHECK(names(poster([](auto& o) { o.queue = ""; }), "queue"));
    CHECK(names(poster([](auto& o) { o.capacity = 0; }), "capacity"));
    CHECK(names(poster([](auto& o) { o.capacity_bytes = 0; }), "capacity_bytes"));
    CHECK(names(poster([](auto& o) { o.records_per_commit = 0; }), "records_per_commit"));
    CHECK(names(poster([](auto& o) { o.policy = ekiden::when_full::drop_oldest; }), "policy"));
    CHECK(names(poster([](auto& o) { o.policy = ekiden::when_full::drop_newest; }), "policy"));
    CHECK(poster([](auto&) {}).starts_with("other"));

    const auto worker = [&](auto change) {
        pg::worker_options chosen{.queue = "in"};
        change(chosen);
        return refusal([&] { const pg::worker made(nowhere, chosen, ekiden_test::apply); });
    };
    CHECK(worker([](auto&) {}) == "nothing"); // it does not connect
    CHECK(names(worker([](auto& o) { o.queue = std::string("a\0b", 3); }), "queue"));
    CHECK(names(worker([](auto& o) { o.connections = 0; }), "connections"));
    CHECK(names(worker([](auto& o) { o.records_per_commit = 0; }), "records_per_commit"));
    CHECK(names(worker([](auto& o) { o.keys_per_commit = 0; }), "keys_per_commit"));
    CHECK(names(worker([](auto& o) { o.commit_after = -1ms; }), "commit_after"));
    CHECK(names(worker([](auto& o) { o.poll_every = 0ms; }), "poll_every"));
    CHECK(names(worker([](auto& o) { o.poll_every = 60'001ms; }), "poll_every"));
    CHECK(names(worker([](auto& o) { o.transaction_limit = 0ms; }), "transaction_limit"));
    CHECK(names(worker([](auto& o) { o.retry.attempts = 0; }), "retry.attempts"));
    CHECK(names(worker([](auto& o) { o.retry.delay = -1ms; }), "retry.delay"));
    CHECK(names(worker([](auto& o) { o.retry.longest_delay = 1ms; }), "retry.longest_delay"));
    CHECK(names(worker([](auto& o) { o.retry.then = records::on_failure::park_key; }), "retry.dead_letters"));
    CHECK(names(worker([](auto& o) {
                    o.retry.then = records::on_failure::dead_letter;
                    o.retry.dead_letters = "in";
                }),
                "retry.dead_letters"));
}

TEST_CASE("many processes create the tables at once, and tables of a newer version are refused") {
    if (!private_server::is_available()) return;
    const private_server server;
    const pg::settings where{.connection = server.connection()};
    {
        std::vector<std::jthread> creators;
        for (int i = 0; i != 8; ++i) creators.emplace_back([&] { CHECK_NOTHROW(pg::create_tables(where)); });
    }
    CHECK(server.number("select count(*) from ekiden.format") == 1);
    CHECK_NOTHROW(pg::create_tables({.connection = server.connection(), .schema = "another_1"}));
    const pg::settings key_word{.connection = server.connection(), .schema = "user"};
    for (int i = 0; i != 2; ++i) CHECK_NOTHROW(pg::create_tables(key_word));
    CHECK(pg::poster(key_word, {.queue = "in"}).submit("k", "v").get().offset > 0);
    server.sql("update ekiden.format set version = 1000");
    CHECK_THROWS_AS(pg::create_tables(where), pg::error);
    CHECK_THROWS_AS(pg::poster(where, {.queue = "in"}), pg::error);
    pg::worker worker(where, {.queue = "in"}, ekiden_test::apply);
    CHECK_THROWS_AS(worker.run(), pg::error);
}
