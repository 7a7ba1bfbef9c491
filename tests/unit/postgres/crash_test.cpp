#include <doctest/doctest.h>
#include <ekiden/postgres.hpp>
#include <tests/unit/effort.hpp>
#include <tests/unit/postgres/checker.hpp>
#include <tests/unit/postgres/lossy_proxy.hpp>
#include <tests/unit/postgres/processes.hpp>

#include <atomic>
#include <csignal>
#include <memory>
#include <random>

using namespace ekiden_test;
namespace pg = ekiden::postgres;
namespace records = ekiden::records;
using namespace std::chrono_literals;

TEST_CASE("worker processes that are killed at any moment lose nothing and double nothing") {
    if (!private_server::is_available()) return;
    const private_server server;
    make_checker(server);
    pg::poster poster({.connection = server.connection()}, {.queue = "in"});
    std::vector<std::unique_ptr<worker_process>> workers;
    for (int i = 0; i != 3; ++i) workers.push_back(std::make_unique<worker_process>(server.connection()));
    std::mt19937 random(1);
    const int kills = rounds(20), each = rounds(400);
    std::jthread producer([&] { post_numbers(poster, 20, each); });
    for (int i = 0; i != kills; ++i) {
        const auto before = server.number("select count(*) from applied");
        const auto goal =
            std::min<std::int64_t>(before + 1 + static_cast<std::int64_t>(random() % 200), 19L * each);
        while (server.number("select count(*) from applied") < goal) std::this_thread::yield();
        worker_process& victim = *workers[random() % 3];
        victim.kill();
        victim.start();
    }
    producer.join();
    REQUIRE(poster.flush(120s));
    REQUIRE(drains(server));
    for (const auto& one : workers) CHECK(one->end() == 0);
    CHECK(count(server, 20L * each) == counts{});
}

TEST_CASE("a server that is killed and started again costs no record and no order") {
    if (!private_server::is_available()) return;
    private_server server;
    make_checker(server);
    const pg::settings where{.connection = server.connection()};
    pg::poster poster(where, {.queue = "in"});
    std::atomic<std::int64_t> calls{0};
    const auto f = [&](const records::request& of, pg::reply& to) {
        ++calls;
        apply(of, to);
    };
    running_worker one(where, {.queue = "in", .connections = 4}, f);
    running_worker two(where, {.queue = "in", .connections = 4}, f);
    // Without its first connections, run() would end.
    REQUIRE(
        becomes(server, "select count(*) from pg_stat_activity where application_name = 'ekiden worker'", 8));
    std::jthread producer([&] { post_numbers(poster, 10, 500); });
    for (int i = 0; i != 3; ++i) {
        const auto goal = std::min<std::int64_t>(calls + 300, 4000);
        while (calls < goal) std::this_thread::yield();
        server.kill();
        server.start();
    }
    producer.join();
    REQUIRE(poster.flush(120s));
    REQUIRE(drains(server));
    one.end();
    two.end();
    CHECK(count(server, 5000) == counts{});
    CHECK(one->metrics().reconnects > 0);
}

TEST_CASE("a worker whose COMMIT is in doubt runs no record twice") {
    if (!private_server::is_available()) return;
    private_server server;
    make_checker(server);
    lossy_proxy proxy(server.folder());
    pg::poster poster({.connection = server.connection()}, {.queue = "in"});
    running_worker worker({.connection = proxy.connection()},
                          {.queue = "in", .connections = 2, .transaction_limit = 1s}, apply);
    // Without its first connections, run() would end.
    REQUIRE(
        becomes(server, "select count(*) from pg_stat_activity where application_name = 'ekiden worker'", 2));
    int expected = 0;
    for (int n = 1; n <= 30; ++n) {
        const lossy_proxy::loss loss = n % 10 == 5  ? lossy_proxy::loss::client_only
                                       : n % 2 == 0 ? lossy_proxy::loss::answer
                                                    : lossy_proxy::loss::request;
        const int before = proxy.losses();
        proxy.lose_next(loss);
        for (int key = 0; key != 4; ++key, ++expected)
            REQUIRE(poster.post("k" + std::to_string(key), std::to_string(n)));
        REQUIRE(poster.flush(120s));
        REQUIRE(drains(server));
        CHECK(proxy.losses() == before + 1);
    }
    while (worker->metrics().reconnects < 30) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    worker.end();
    CHECK(count(server, expected) == counts{});
}

TEST_CASE("a worker process that is stopped keeps its keys, and continues without a fault") {
    if (!private_server::is_available()) return;
    const private_server server;
    make_checker(server);
    pg::poster poster({.connection = server.connection()}, {.queue = "in"});
    worker_process one(server.connection()), two(server.connection());
    post_numbers(poster, 20, 100);
    REQUIRE(poster.flush(120s));
    for (int i = 0; i != 5; ++i) {
        one.signal(SIGSTOP);
        const auto before = server.number("select count(*) from applied");
        // The other process goes on with all other keys, unless it is done with them.
        const auto limit = std::chrono::steady_clock::now() + 100ms;
        while (server.number("select count(*) from applied") == before
               && std::chrono::steady_clock::now() < limit)
            std::this_thread::yield();
        one.signal(SIGCONT);
    }
    REQUIRE(drains(server));
    CHECK(one.end() == 0);
    CHECK(two.end() == 0);
    CHECK(count(server, 2000) == counts{});
}
