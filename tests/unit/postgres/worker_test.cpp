#include <doctest/doctest.h>
#include <ekiden/async.hpp>
#include <ekiden/observe.hpp>
#include <ekiden/postgres.hpp>
#include <tests/unit/child_process.hpp>
#include <tests/unit/postgres/checker.hpp>

#include <atomic>
#include <cstdlib>
#include <map>
#include <mutex>

using namespace ekiden_test;
namespace pg = ekiden::postgres;
namespace records = ekiden::records;
using namespace std::chrono_literals;

TEST_CASE("three workers handle each record once, in the order of its key") {
    if (!private_server::is_available()) return;
    const private_server server;
    make_checker(server);
    const pg::settings where{.connection = server.connection()};
    pg::poster poster(where, {.queue = "in"});
    for (const int keys : {3, 500}) { // With many keys alone, a missing lock would hardly be seen.
        CAPTURE(keys);
        server.sql("truncate applied; delete from ekiden.record");
        running_worker one(where, {.queue = "in", .connections = 4}, apply);
        running_worker two(
            where, {.queue = "in", .connections = 4, .records_per_commit = 50, .keys_per_commit = 10}, apply);
        running_worker three(where, {.queue = "in", .connections = 4, .records_per_commit = 1}, apply);
        post_numbers(poster, keys, 3000 / keys);
        REQUIRE(poster.flush(120s));
        REQUIRE(drains(server));
        for (auto* const worker : {&one, &two, &three}) worker->end();
        CHECK(count(server, 3000) == counts{});
        CHECK(one->metrics().done + two->metrics().done + three->metrics().done == 3000);
        CHECK(one->metrics().reconnects == 0);
    }
}

TEST_CASE("two records of a key never run at the same time, and keys run in parallel") {
    if (!private_server::is_available()) return;
    const private_server server;
    const pg::settings where{.connection = server.connection()};
    std::map<std::string, int, std::less<>> running;
    std::mutex mutex;
    std::atomic<int> overlaps{0}, now{0}, most{0}, calls{0};
    const auto f = [&](const records::request& of, records::reply&) {
        {
            const std::lock_guard lock(mutex);
            overlaps += ++running[std::string(of.key)] > 1;
            most = std::max<int>(most, ++now);
        }
        std::this_thread::sleep_for(2ms);
        const std::lock_guard lock(mutex);
        --running[std::string(of.key)];
        --now;
        ++calls;
    };
    pg::poster poster(where, {.queue = "in"});
    post_numbers(poster, 10, 20);
    running_worker one(where, {.queue = "in", .connections = 5}, f);
    running_worker two(where, {.queue = "in", .connections = 5}, f);
    CHECK(poster.flush(120s));
    REQUIRE(drains(server));
    one.end();
    two.end();
    CHECK(overlaps == 0);
    CHECK(most > 3);
    CHECK(calls == 200);
}

TEST_CASE("a transaction has no more records than are allowed, also if more keys are allowed") {
    if (!private_server::is_available()) return;
    const private_server server;
    make_checker(server);
    const pg::settings where{.connection = server.connection()};
    pg::poster poster(where, {.queue = "in"});
    post_numbers(poster, 20, 2);
    REQUIRE(poster.flush(120s));
    running_worker worker(
        where, {.queue = "in", .connections = 1, .records_per_commit = 1, .keys_per_commit = 1'000}, apply);
    REQUIRE(drains(server));
    worker.end();
    CHECK(worker->metrics().commits == 40);
}

TEST_CASE("a slow key does not stop the others") {
    if (!private_server::is_available()) return;
    const private_server server;
    const pg::settings where{.connection = server.connection()};
    pg::poster poster(where, {.queue = "in"});
    REQUIRE(poster.post("slow", "1"));
    post_numbers(poster, 50, 10);
    REQUIRE(poster.post("slow", "2"));
    REQUIRE(poster.flush(120s));
    std::atomic<bool> is_slow{true};
    std::atomic<int> others{0}, slow{0};
    running_worker worker(where, {.queue = "in", .connections = 3},
                          [&](const records::request& of, records::reply&) {
                              if (of.key != "slow") {
                                  ++others;
                                  return;
                              }
                              ++slow;
                              while (is_slow) std::this_thread::sleep_for(1ms);
                          });
    while (others != 500 || slow != 1) std::this_thread::sleep_for(1ms); // hangs if the slow key stops them
    const auto metrics = worker->metrics();
    REQUIRE(metrics.partitions.size() == 1);
    CHECK(metrics.partitions[0].oldest_key == "slow");
    is_slow = false;
    REQUIRE(drains(server));
    CHECK(slow == 2);
}

TEST_CASE("metrics tell the backlog, the failing and the parked keys") {
    if (!private_server::is_available()) return;
    const private_server server;
    const pg::settings where{.connection = server.connection()};
    pg::poster poster(where, {.queue = "in"});
    post_numbers(poster, 4, 25);
    REQUIRE(poster.flush(120s));
    pg::worker idle(where, {.queue = "in"}, apply);
    auto metrics = idle.metrics();
    REQUIRE(metrics.partitions.size() == 1);
    CHECK(metrics.partitions[0].topic == "in");
    CHECK(metrics.partitions[0].lag == 100);
    CHECK(metrics.partitions[0].oldest_key == "k0");
    CHECK(metrics.partitions[0].oldest_offset == server.number("select min(id) from ekiden.record"));
    CHECK(metrics.partitions[0].oldest_age >= 0ms);
    ekiden::prometheus_page page;
    records::add_metrics(page, metrics, "w1");
    const std::string text = page.text();
    CHECK(text.find("ekiden_worker_lag_records{worker=\"w1\",topic=\"in\",partition=\"0\"} 100")
          != std::string::npos);

    running_worker worker(where,
                          {.queue = "in",
                           .retry = {.attempts = 2,
                                     .delay = 1ms,
                                     .then = records::on_failure::park_key,
                                     .dead_letters = "dead"}},
                          [](const records::request& of, records::reply&) {
                              if (of.key == "k1") throw std::runtime_error("no");
                          });
    REQUIRE(drains(server));
    worker.end();
    metrics = worker->metrics();
    REQUIRE(metrics.partitions.size() == 1);
    CHECK(metrics.partitions[0].lag == 0);
    CHECK(metrics.partitions[0].parked == 1);
    CHECK(metrics.partitions[0].oldest_offset == -1);
    CHECK(metrics.done == 75);
    CHECK(metrics.retries == 1); // two calls
    CHECK(metrics.dead_letters == 25);
    CHECK(pg::worker({.connection = "host=/nowhere"}, {.queue = "in"}, apply).metrics().partitions.empty());
}

TEST_CASE("a coroutine is a handler, and its effects are part of the transaction") {
    if (!private_server::is_available()) return;
    const private_server server;
    make_checker(server);
    const pg::settings where{.connection = server.connection()};
    pg::poster poster(where, {.queue = "in"});
    post_numbers(poster, 5, 20);
    running_worker worker(where, {.queue = "in", .connections = 3},
                          [](const records::request& of, pg::reply& to) -> ekiden::coroutine<> {
                              to.execute("insert into applied (key, n) values ($1, $2)",
                                         {std::string(of.key), std::string(of.value)});
                              co_await ekiden::sleep_for(100us);
                              to.post("out", std::string(of.key), std::string(of.value));
                          });
    CHECK(poster.flush(120s));
    REQUIRE(drains(server));
    worker.end();
    CHECK(count(server, 100) == counts{});
}

TEST_CASE("close() finishes what runs, and gives up at its limit") {
    if (!private_server::is_available()) return;
    const private_server server;
    make_checker(server);
    const pg::settings where{.connection = server.connection()};
    pg::poster poster(where, {.queue = "in"});
    post_numbers(poster, 1, 3);
    REQUIRE(poster.flush(120s));
    std::atomic<bool> begun{false}, may_end{false}, was_given_up{false};
    const auto f = [&](const records::request& of, pg::reply& to) {
        apply(of, to);
        begun = true;
        while (!may_end && !of.given_up.stop_requested()) std::this_thread::sleep_for(1ms);
        was_given_up = of.given_up.stop_requested();
    };
    {
        running_worker worker(where, {.queue = "in"}, f);
        while (!begun) std::this_thread::sleep_for(1ms);
        CHECK_FALSE(worker->close(20ms)); // the function is told to give up, and ends
        CHECK(worker->close(10s));
        CHECK_NOTHROW(worker.join());
        CHECK(was_given_up);
        CHECK(server.number("select count(*) from applied") == 0); // its effects were rolled back
        CHECK(server.number("select count(*) from ekiden.record") == 3);
    }
    begun = false;
    {
        running_worker worker(where, {.queue = "in"}, f);
        while (!begun) std::this_thread::sleep_for(1ms);
        std::jthread ends([&] {
            std::this_thread::sleep_for(20ms);
            may_end = true;
        });
        CHECK(worker->close(10s)); // the function ends, and its record is finished
        CHECK(server.number("select count(*) from applied") == 1);
        CHECK(server.number("select count(*) from ekiden.record where queue = 'in'") == 2);
    }
}

TEST_CASE("a worker may be closed before, destroyed without, and not run twice") {
    if (!private_server::is_available()) return;
    const private_server server;
    const pg::settings where{.connection = server.connection()};
    {
        pg::worker worker(where, {.queue = "in"}, apply);
        CHECK(worker.close(0s));
        CHECK_NOTHROW(worker.run());
        CHECK_THROWS_AS(worker.run(), std::logic_error);
    }
    {
        const pg::worker worker(where, {.queue = "in"}, apply);
    }
    for (int i = 0; i != 20; ++i) { // destroyed at any moment of its life
        running_worker worker(where, {.queue = "in", .connections = 3}, apply);
        std::this_thread::sleep_for(i * 1ms);
    }
    std::stop_source stopped;
    stopped.request_stop();
    pg::worker worker(where, {.queue = "in"}, apply);
    CHECK_NOTHROW(worker.run(stopped.get_token()));
    {
        auto poster = std::make_unique<pg::poster>(where, pg::poster_options{.queue = "other"});
        auto running = std::make_unique<pg::worker>(where, pg::worker_options{.queue = "in"}, apply);
        const std::jthread runs([&] { running->run(); });
        while (running->metrics().partitions.empty()) std::this_thread::yield();
        CHECK(run_in_child([&] { // their threads do not exist in the child of a fork()
                  poster.reset();
                  running.reset();
                  std::_Exit(0); // without a search for leaks, because the objects stay
              })
                  .exit_code
              == 0);
        CHECK(poster->post("k", "1")); // The child has not closed the connections.
        CHECK(poster->flush(60s));
        CHECK(running->close(60s));
    }
}

TEST_CASE("an error that no retry mends ends run()") {
    if (!private_server::is_available()) return;
    const private_server server;
    const pg::settings where{.connection = server.connection()};
    running_worker worker(where, {.queue = "in"}, apply);
    CHECK(
        becomes(server, "select count(*) from pg_stat_activity where application_name = 'ekiden worker'", 8));
    server.sql("drop schema ekiden cascade");
    CHECK_THROWS_AS(worker.join(), pg::error);

    pg::worker nowhere({.connection = "host=/nowhere"}, {.queue = "in"}, apply);
    CHECK_THROWS_AS(nowhere.run(), pg::error);
}

TEST_CASE("the rows of keys without records are removed, and such a key works again") {
    if (!private_server::is_available()) return;
    const private_server server;
    make_checker(server);
    const pg::settings where{.connection = server.connection()};
    pg::poster poster(where, {.queue = "in"});
    running_worker worker(where, {.queue = "in"}, apply);
    for (int n = 1; n <= 20; ++n) {
        for (int key = 0; key != 5; ++key) REQUIRE(poster.post("k" + std::to_string(key), std::to_string(n)));
        REQUIRE(poster.flush(120s));
        // What a worker does once a minute, at any moment.
        server.sql("delete from ekiden.lane where (queue, key) in (select queue, key from ekiden.lane l "
                   "where failed is "
                   "null and not parked and not exists (select from ekiden.record r where r.queue = l.queue "
                   "and r.key = "
                   "l.key) for update skip locked)");
    }
    REQUIRE(drains(server));
    worker.end();
    CHECK(count(server, 100) == counts{});
}
