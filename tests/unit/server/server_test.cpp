// The ordered server with its clients: order, killed connections, shutdown.
#include "../effort.hpp"
#include "plain_client.hpp"
#include <tests/server/checking_client.hpp>

#include <csignal>
#include <doctest/doctest.h>
#include <numeric>
#include <sstream>
#include <string>
#include <system_error>
#include <vector>

namespace {

using namespace ordered_test;
using namespace std::chrono_literals;

std::uint64_t taken(const ordered::counters& all) {
    return std::accumulate(std::begin(all.requests), std::end(all.requests), std::uint64_t{0});
}

ordered_client::plan plan_for(const running_server& server, std::uint64_t requests) {
    ordered_client::plan p;
    p.port = server.port();
    p.connections = 20;
    p.keys = 50;
    p.requests = requests;
    return p;
}

void expect_none(const ordered_client::report& r) {
    for (const std::string& what : r.first_violations) MESSAGE(what);
    CHECK(r.violations == 0);
}

} // namespace

TEST_CASE("commands are answered, those of one connection in their order") {
    running_server server;
    plain_client client(server.port());
    client.expect("PING\r\n", "+PONG\r\n");
    client.expect("*3\r\n$3\r\nADD\r\n$1\r\na\r\n$1\r\n5\r\nADD a 6\r\nGET a\r\n",
                  "*2\r\n:1\r\n:5\r\n*2\r\n:2\r\n:11\r\n*2\r\n:2\r\n:11\r\n");
    client.expect("GET none\r\nRESET none\r\n", "$-1\r\n+OK\r\n");
    // The first draw of the generator with its default seed is 3499211612.
    client.expect(
        "RESET a\r\nWORK a 1\r\nGET a\r\nNOSUCH\r\n",
        "+OK\r\n*2\r\n:1\r\n:3499211612\r\n*2\r\n:1\r\n:3499211612\r\n-ERR unknown command 'nosuch'\r\n");
    // Long requests first. Their replies nevertheless come first.
    client.expect("WORK b 100000\r\nPING\r\nADD c 1\r\n", "*2\r\n:1\r\n:");
    CHECK(client.send("QUIT\r\nPING\r\n"));
    CHECK(client.receive_all().ends_with("\r\n+PONG\r\n*2\r\n:1\r\n:1\r\n+OK\r\n"));
}

TEST_CASE("MSET sets totals, MGET reads them, and TRANSFER moves a number between two of them") {
    for (const std::int64_t on_the_spot : {-1, 100}) {
        ordered::options chosen;
        chosen.limit.work_on_the_spot = on_the_spot;
        running_server server(chosen);
        plain_client client(server.port());
        client.expect("MSET a 5 b 7 a 6\r\nMGET a none b a\r\n",
                      "+OK\r\n*4\r\n*2\r\n:1\r\n:6\r\n$-1\r\n*2\r\n:1\r\n:7\r\n*2\r\n:1\r\n:6\r\n");
        client.expect("MGET none\r\n", "*1\r\n$-1\r\n");
        // A total may become negative, like after ADD. An unknown key counts as 0.
        client.expect("TRANSFER a c 10\r\nMGET a c\r\n",
                      "+OK\r\n*2\r\n*2\r\n:2\r\n:-4\r\n*2\r\n:1\r\n:10\r\n");
        // A request with several keys has its place in the order of each key.
        client.expect("WORK a 1000\r\nMSET b 1 a 2\r\nADD b 1\r\nTRANSFER b a 2\r\nWORK b 0\r\n",
                      "*2\r\n:3\r\n:");
        CHECK(client.receive_lines(1).ends_with("\r\n"));
        client.expect("GET a\r\n", "+OK\r\n*2\r\n:3\r\n:2\r\n+OK\r\n*2\r\n:5\r\n:0\r\n*2\r\n:5\r\n:4\r\n");
    }
}

TEST_CASE("later requests of a key wait for its WAIT, and requests of other keys run meanwhile") {
    for (const std::int64_t on_the_spot : {-1, 100}) {
        ordered::options chosen;
        chosen.limit.work_on_the_spot = on_the_spot;
        running_server server(chosen);
        plain_client waiting(server.port());
        plain_client other(server.port());
        const auto begin = std::chrono::steady_clock::now();
        std::string waits;
        for (int i = 0; i != 50; ++i) waits += "WAIT other" + std::to_string(i) + " 200\r\n";
        REQUIRE(waiting.send("PING\r\nWAIT a 200\r\n" + waits));
        CHECK(waiting.receive(7) == "+PONG\r\n"); // now WAIT has its place
        other.expect("ADD b 1\r\n", "*2\r\n:1\r\n:1\r\n");
        other.expect("ADD a 5\r\nMGET a b\r\n",
                     "*2\r\n:2\r\n:5\r\n*2\r\n*2\r\n:2\r\n:5\r\n*2\r\n:1\r\n:1\r\n");
        CHECK(std::chrono::steady_clock::now() - begin >= 200ms);
        CHECK(waiting.receive_lines(3) == "*2\r\n:1\r\n:0\r\n");
        for (int i = 0; i != 50; ++i) CHECK(waiting.receive_lines(3) == "*2\r\n:1\r\n:0\r\n");
        CHECK(std::chrono::steady_clock::now() - begin < 5s); // two threads would need this time to sleep
    }
}

TEST_CASE("a WAIT whose client is gone keeps its place") {
    running_server server;
    {
        plain_client gone(server.port());
        gone.expect("PING\r\nWAIT a 200\r\nWAIT a 1\r\n", "+PONG\r\n");
        const linger at_once{1, 0}; // resets the connection
        ::setsockopt(gone.socket(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    }
    plain_client later(server.port());
    later.expect("ADD a 1\r\n", "*2\r\n:3\r\n:1\r\n");
    const ordered::counters& all = server.end();
    CHECK(all.requests[static_cast<std::size_t>(ordered::verb::wait)] == 2);
    CHECK(all.lost == 2);
    CHECK(taken(all) == all.replies + all.lost);
}

TEST_CASE(
    "a server that ends waits for each WAIT that it has accepted, but not longer than its grace period") {
    const std::string replies = "*2\r\n:1\r\n:0\r\n*2\r\n:2\r\n:0\r\n";
    for (const bool is_short : {true, false}) {
        ordered::options chosen;
        chosen.deadline.grace = is_short ? 1h : 50ms;
        running_server server(chosen);
        plain_client client(server.port());
        const std::string ms = is_short ? "50" : "10000"; // the second request waits behind the first one
        client.expect("PING\r\nWAIT a " + ms + "\r\nWAIT a " + ms + "\r\n", "+PONG\r\n");
        const auto begin = std::chrono::steady_clock::now();
        server.get().stop();
        CHECK(client.receive_all() == (is_short ? replies : ""));
        const ordered::counters& all = server.wait();
        CHECK(std::chrono::steady_clock::now() - begin < 5s);
        CHECK(all.lost == (is_short ? 0 : 2));
        CHECK(taken(all) == all.replies + all.lost);
    }
}

TEST_CASE("a request with several keys that fails changes none of them") {
    ordered::options chosen;
    chosen.limit.keys = 3;
    running_server server(chosen);
    plain_client client(server.port());
    client.expect("MSET a -9223372036854775807 b 9223372036854775807\r\n", "+OK\r\n");
    client.expect("TRANSFER a c 2\r\nTRANSFER c b 1\r\nMGET a b c\r\n",
                  "-ERR the total would overflow\r\n-ERR the total would overflow\r\n"
                  "*3\r\n*2\r\n:1\r\n:-9223372036854775807\r\n*2\r\n:1\r\n:9223372036854775807\r\n"
                  "*2\r\n:0\r\n:0\r\n");
    client.expect("MSET a 1 d 1\r\nTRANSFER a e 1\r\nMGET d a e\r\n",
                  "-ERR too many keys\r\n-ERR too many keys\r\n"
                  "*3\r\n$-1\r\n*2\r\n:1\r\n:-9223372036854775807\r\n$-1\r\n");
}

TEST_CASE("requests are recorded in a log, each once and with its key") {
    ekiden::request_log log({.capacity = 100});
    ordered::options chosen;
    chosen.log = &log;
    chosen.limit.work_on_the_spot = -1;
    running_server server(chosen);
    plain_client client(server.port());
    client.expect("ADD a 5\r\nADD b 6\r\nMSET a 6 b 1\r\nPING\r\n",
                  "*2\r\n:1\r\n:5\r\n*2\r\n:1\r\n:6\r\n+OK\r\n+PONG\r\n");
    server.end();
    std::stringstream text;
    const auto found = log.write_csv(text);
    CHECK(found.written == 3);
    CHECK(found.unfinished + found.lost == 0);
    std::vector<std::string> keys;
    for (std::string line; std::getline(text, line);)
        keys.push_back(
            line.substr(line.find(',') + 1, line.find(',', line.find(',') + 1) - line.find(',') - 1));
    REQUIRE(keys.size() == 4);
    CHECK(keys[1] == keys[3]); // MSET is recorded with its first key
    CHECK(keys[1] != keys[2]);
}

TEST_CASE("a total that would overflow is refused, and the request has no number") {
    running_server server;
    plain_client client(server.port());
    client.expect("ADD a 9223372036854775807\r\nADD a 1\r\nADD a -1\r\n",
                  "*2\r\n:1\r\n:9223372036854775807\r\n-ERR the total would overflow\r\n"
                  "*2\r\n:2\r\n:9223372036854775806\r\n");
}

TEST_CASE("every key's numbers are 1 to n and its totals right while connections are killed") {
    for (const std::int64_t on_the_spot : {-1, 100}) {
        for (const std::int64_t draws : {-1, 500}) {
            ordered::options chosen;
            chosen.limit.work_on_the_spot = on_the_spot;
            running_server server(chosen);
            ordered_client::plan p =
                plan_for(server, static_cast<std::uint64_t>(ekiden_test::rounds(40'000)));
            p.kill_one_in = 500;
            p.draws = draws;
            const ordered_client::report r = ordered_client::run(p);
            expect_none(r);
            CHECK(r.answered + r.lost == r.sent);
            const ordered::counters& all = server.end();
            CHECK(taken(all) == all.replies + all.lost);
            CHECK((all.on_the_spot > 0) == (on_the_spot >= 0));
        }
    }
}

TEST_CASE("the sum over all accounts stays while transfers run and connections are killed") {
    for (const std::int64_t on_the_spot : {-1, 100}) {
        for (const std::size_t lane : {2, 256}) {
            ordered::options chosen;
            chosen.limit.work_on_the_spot = on_the_spot;
            chosen.limit.lane = lane;
            running_server server(chosen);
            ordered_client::plan p =
                plan_for(server, static_cast<std::uint64_t>(ekiden_test::rounds(40'000)));
            p.accounts = 10;
            p.kill_one_in = 500;
            const ordered_client::report r = ordered_client::run(p);
            expect_none(r);
            CHECK(r.answered + r.lost == r.sent);
            CHECK(r.killed > 0);
            const ordered::counters& all = server.end();
            CHECK(taken(all) == all.replies + all.lost);
            CHECK((all.on_the_spot > 0) == (on_the_spot >= 0));
        }
    }
}

TEST_CASE("connections wait for room in a full lane, and nothing is lost or out of order") {
    ordered::options chosen;
    chosen.limit.lane = 2;
    chosen.limit.work_on_the_spot = -1;
    running_server server(chosen);
    ordered_client::plan p = plan_for(server, static_cast<std::uint64_t>(ekiden_test::rounds(20'000)));
    p.keys = 3;
    p.kill_one_in = 1000;
    expect_none(ordered_client::run(p));
    const ordered::counters& all = server.end();
    CHECK(all.waits_for_room > 0);
    CHECK(taken(all) == all.replies + all.lost);
}

TEST_CASE("a server that is stopped under load answers all that it has accepted") {
    for (const std::int64_t draws : {-1, 2000}) {
        running_server server;
        ordered_client::plan p = plan_for(server, 1'000'000'000); // more than there is time for
        p.may_be_refused = true;
        p.draws = draws;
        ordered_client::report r;
        std::thread client([&] { r = ordered_client::run(p); });
        plain_client probe(server.port()); // until the server is busy
        for (int number = 0; number < 500;) {
            REQUIRE(probe.send("GET key0\r\n"));
            if (probe.receive_lines(1) == "*2\r\n") number = std::stoi(probe.receive_lines(2).substr(1));
        }
        const ordered::counters& all = server.end();
        client.join();
        expect_none(r);
        CHECK(r.ended == p.connections);
        CHECK(all.lost == 0);
        CHECK(taken(all) == all.replies);
        CHECK(r.answered > 0);
    }
}

TEST_CASE("SIGTERM ends the server, and a second signal ends it at once") {
    ordered::options chosen;
    chosen.deadline.grace = 1h;
    chosen.deadline.linger = 1h;
    chosen.threads = 2;
    running_server server(chosen);
    server.get().stop_on_signals();
    plain_client client(server.port());
    client.expect("WORK a 200000\r\nADD b 1\r\n", "*2\r\n:1\r\n:");
    std::raise(SIGTERM);
    CHECK(client.receive_all().ends_with(
        "\r\n*2\r\n:1\r\n:1\r\n")); // answered; now the server waits until this side closes
    std::raise(SIGTERM);
    CHECK(server.wait().lost == 0);
}
