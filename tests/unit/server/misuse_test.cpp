// Clients that the ordered server must survive, and limits of the system.
#include "plain_client.hpp"

#include <chrono>
#include <doctest/doctest.h>
#include <ekiden/sys/config.hpp>
#include <memory>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include <sys/resource.h>

namespace {

using namespace ordered_test;
using namespace std::chrono_literals;

std::string repeat(std::string_view what, std::size_t count) {
    std::string all;
    while (count-- > 0) all += what;
    return all;
}

} // namespace

TEST_CASE("a client that ends its side gets all replies, then the end") {
    running_server server;
    plain_client client(server.port());
    REQUIRE(client.send(repeat("WORK a 2000\r\nADD b 1\r\n", 200) + "PI"));
    client.end_output();
    const std::string all = client.receive_all();
    CHECK(all.find("*2\r\n:200\r\n:200\r\n") == all.size() - 16);
    CHECK(server.end().replies == 400);
}

TEST_CASE("lengths that are too large are refused before anything is taken for them") {
    running_server server;
    for (const char* bytes :
         {"*1\r\n$2147483647\r\n", "*2147483647\r\n", "*1\r\n$99999999999999999999\r\n"}) {
        plain_client client(server.port());
        REQUIRE(client.send(bytes));
        const std::string all = client.receive_all();
        CHECK(all.starts_with("-ERR Protocol error: invalid "));
        CHECK(all.find("\r\n") == all.size() - 2);
    }
}

TEST_CASE("replies before a protocol error arrive, and what follows it does not count") {
    running_server server;
    plain_client client(server.port());
    REQUIRE(client.send("WORK a 50000\r\n*x\r\n" + repeat("ADD b 1\r\n", 5000)));
    const std::string all = client.receive_all();
    CHECK(all.starts_with("*2\r\n:1\r\n:"));
    CHECK(all.ends_with("-ERR Protocol error: invalid multibulk length\r\n"));
    CHECK(server.end().replies == 2);
}

TEST_CASE("a client that never reads is not read without end, and is given up after the deadline") {
    ordered::options chosen;
    chosen.deadline.write = 300ms;
    running_server server(chosen);
    plain_client deaf(server.port(), 4096);
    const std::string request = "*2\r\n$4\r\nPING\r\n$60000\r\n" + std::string(60'000, 'x') + "\r\n";
    std::size_t sent = 0;
    while (deaf.send(request)) REQUIRE(++sent < 100'000); // ends when the server has closed the connection
    plain_client other(server.port());
    other.expect("PING\r\n", "+PONG\r\n");
    const ordered::counters& all = server.end();
    CHECK(all.too_late == 1);
    // The server's memory is limited. The rest is in the system's buffers.
    CHECK(all.requests[static_cast<std::size_t>(ordered::verb::text)] < 1000);
}

TEST_CASE("a client that says nothing is given up after the deadline") {
    ordered::options chosen;
    chosen.deadline.idle = 300ms;
    running_server server(chosen);
    plain_client silent(server.port());
    CHECK(silent.receive_all().empty());
    CHECK(server.end().too_late == 1);
}

TEST_CASE("a client that says half a request is given up after the deadline") {
    ordered::options chosen;
    chosen.deadline.read = 300ms; // counts from the first byte, however late the client sends it
    running_server server(chosen);
    plain_client slow(server.port());
    slow.send("PING\r\n*2\r\n$4\r\nPI");
    CHECK(slow.receive_all() == "+PONG\r\n");
    CHECK(server.end().too_late == 1);
}

TEST_CASE("a slow reader gets everything in order") {
    running_server server;
    plain_client client(server.port(), 4096);
    constexpr int requests = 20'000;
    std::thread writer([&] {
        CHECK(client.send(repeat("ADD a 1\r\nADD b 1\r\n", requests)));
        client.end_output();
    });
    std::string all;
    for (std::string some = "x"; !some.empty(); all += some) some = client.receive(1000);
    writer.join();
    std::string expected;
    for (int i = 1; i <= requests; ++i) {
        const std::string reply = "*2\r\n:" + std::to_string(i) + "\r\n:" + std::to_string(i) + "\r\n";
        expected += reply + reply;
    }
    CHECK(all == expected);
}

TEST_CASE("more replies than may wait for a client all come, one part after the other") {
    ordered::options chosen;
    chosen.limit.output = 40;
    running_server server(chosen);
    plain_client client(server.port());
    // In one piece, so that the server reads all of it before it has sent the first reply.
    REQUIRE(client.send(repeat("PING\r\n", 500)));
    CHECK(client.receive(3500) == repeat("+PONG\r\n", 500));
}

TEST_CASE("connections above the limit are told so, and later ones find room again") {
    ordered::options chosen;
    chosen.limit.connections = 2;
    running_server server(chosen);
    auto first = std::make_unique<plain_client>(server.port());
    first->expect("PING\r\n", "+PONG\r\n");
    plain_client second(server.port());
    second.expect("PING\r\n", "+PONG\r\n");
    plain_client third(server.port());
    CHECK(third.receive_all() == "-ERR max number of clients reached\r\n");
    first.reset();
    for (;;) { // until the server has noticed
        plain_client next(server.port());
        next.send("PING\r\n");
        if (next.receive(7) == "+PONG\r\n") break;
    }
    CHECK(server.end().refused >= 1);
}

TEST_CASE("a thousand connections are served at once") {
    running_server server;
    std::vector<std::unique_ptr<plain_client>> all;
    for (int i = 0; i != 1000; ++i) all.push_back(std::make_unique<plain_client>(server.port()));
    for (const auto& one : all) REQUIRE(one->send("ADD a 1\r\n"));
    for (const auto& one : all) CHECK(one->receive(5) == "*2\r\n:");
}

TEST_CASE("too many keys are refused, and those that exist go on") {
    ordered::options chosen;
    chosen.limit.keys = 2;
    running_server server(chosen);
    plain_client client(server.port());
    client.expect("ADD a 1\r\nADD b 1\r\nADD c 1\r\nADD b 1\r\n",
                  "*2\r\n:1\r\n:1\r\n*2\r\n:1\r\n:1\r\n-ERR too many keys\r\n*2\r\n:2\r\n:2\r\n");
}

TEST_CASE("a port in use is an error of the constructor") {
    running_server server;
    ordered::options chosen;
    chosen.port = server.port();
    chosen.metrics_port = 0;
    CHECK_THROWS_AS(ordered::tcp_server{chosen}, std::system_error);
    chosen.port = 0;
    chosen.metrics_port = server.port();
    CHECK_THROWS_AS(ordered::tcp_server{chosen}, std::system_error);
}

TEST_CASE("a server that never runs ends, and one without clients ends when it is stopped") {
    ordered::options chosen;
    chosen.port = chosen.metrics_port = 0;
    {
        const ordered::tcp_server never(chosen);
    }
    ordered::tcp_server stopped(chosen);
    stopped.stop();
    stopped.run();
}

namespace {

/// Returns the page of the second port. A reader that is delayed for a second gets no page, so this asks
/// again.
std::string page_of(running_server& server, const std::string& request) {
    for (;;) {
        plain_client reader(server.metrics_port());
        reader.send(request);
        std::string page = reader.receive_all();
        if (!page.empty()) return page;
    }
}

/// Returns a number on that page.
[[maybe_unused]] long count_of(running_server& server, const std::string& name) {
    const std::string page = page_of(server, "GET /metrics HTTP/1.0\r\n\r\n");
    const std::string line = "\nordered_server_" + name + " ";
    const std::size_t at = page.find(line);
    return at == std::string::npos ? -1 : std::stol(page.substr(at + line.size()));
}

} // namespace

// UndefinedBehaviorSanitizer opens a pipe to inspect an object's memory. If it cannot, it reports a wrong
// object.
#if !defined(EKIDEN_ASAN)
TEST_CASE("without descriptors the server waits, and accepts again when there are some") {
    running_server server;
    plain_client before(server.port());
    before.expect("PING\r\n", "+PONG\r\n");
    rlimit old{};
    REQUIRE(::getrlimit(RLIMIT_NOFILE, &old) == 0);
    rlimit few = old;
    few.rlim_cur = static_cast<rlim_t>(before.socket()) + 20;
    REQUIRE(::setrlimit(RLIMIT_NOFILE, &few) == 0);
    // Another thread of this process may have a descriptor open for a moment, which the server then gets. So
    // this is repeated.
    bool has_failed = false;
    for (int round = 0; round != 100 && !has_failed; ++round) {
        std::vector<int> fillers;
        for (int f = ::dup(0); f >= 0; f = ::dup(0)) fillers.push_back(f);
        REQUIRE(!fillers.empty());
        ::close(fillers.back());
        fillers.pop_back();
        // Uses the last descriptor: the system accepts the connection, but the server cannot.
        plain_client waiting(server.port());
        for (int i = 0; i != 3; ++i) before.expect("PING\r\n", "+PONG\r\n");
        for (const int f : fillers) ::close(f);
        waiting.expect("PING\r\n", "+PONG\r\n");
        has_failed = count_of(server, "accept_failures_total") > 0;
    }
    CHECK(has_failed);
    REQUIRE(::setrlimit(RLIMIT_NOFILE, &old) == 0);
}
#endif

TEST_CASE("the second port tells what the server has done") {
    running_server server;
    plain_client client(server.port());
    client.expect("ADD a 1\r\nWAIT a 1\r\nNOSUCH\r\n", "*2\r\n:1\r\n:1\r\n*2\r\n:2\r\n:1\r\n-ERR ");
    for (int i = 0; i != 3; ++i) {
        const std::string page = page_of(server, "GET /metrics HTTP/1.1\r\nHost: here\r\n\r\n");
        CHECK(page.starts_with("HTTP/1.0 200 OK\r\n"));
        CHECK(page.find("\nordered_server_requests_total{verb=\"add\"} 1\n") != std::string::npos);
        CHECK(page.find("\nordered_server_requests_total{verb=\"wait\"} 1\n") != std::string::npos);
        CHECK(page.find("\nordered_server_lanes_run_total 1\n") != std::string::npos);
        CHECK(page.find("\nordered_server_requests_total{verb=\"error\"} 1\n") != std::string::npos);
        CHECK(page.find("\nordered_server_open_connections 1\n") != std::string::npos);
    }
    plain_client silent(server.metrics_port()); // delays no other reader, and is dropped after a second
    const std::string page = page_of(server, "GET / HTTP/1.0\r\n\r\n");
    CHECK(
        page.starts_with("HTTP/1.0 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n\r\n<!doctype html>"));
    CHECK(page.ends_with("</html>\n"));
    CHECK(silent.receive_all().empty());
}
