// Connections that wait for room in a lane, and their turns, without sockets and threads.
#include <ordered_server/server.hpp>

#include <ekiden/loop.hpp>

#include <doctest/doctest.h>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>

namespace {

/// A connection whose client sends its requests at once. Each write stays pending until the test ends it.
class idle_client final : public ordered::connection {
public:
    idle_client(ordered::server& of, std::string requests) : connection(of), bytes_(std::move(requests)) {}

    /// Completes the pending read with the requests.
    void deliver() {
        bytes_.copy(into_.data(), bytes_.size());
        received({}, bytes_.size());
    }
    /// Completes the pending write with an error.
    void fail() { sent(std::make_error_code(std::errc::connection_reset), 0); }

    std::string written;

private:
    void read_some(std::span<char> into) override { into_ = into; }
    void write_some(std::string_view bytes) override { written = bytes; }
    void end_output() override {}
    void close() override {}

    const std::string bytes_;
    std::span<char> into_;
};

} // namespace

TEST_CASE("a connection that waits for another account passes its turn on") {
    ekiden::loop_context network;
    ekiden::loop_context workers;
    const ekiden::executor_work_guard open(workers.get_executor());
    ordered::options chosen;
    chosen.limit.lane = 1;
    chosen.limit.work_on_the_spot = -1;
    ordered::server server(network.get_executor(), workers.get_executor(), chosen, ordered::make_lane_desk,
                           [] {});
    const auto add = [&](const char* requests) {
        auto fresh = std::make_shared<idle_client>(server, requests);
        server.add(fresh);
        fresh->deliver();
        return fresh;
    };
    const auto a = add("ADD a 1\r\n");
    const auto b = add("ADD b 1\r\n");
    const auto both = add("PING\r\nTRANSFER a b 1\r\n"); // waits for account a
    const auto next = add("ADD a 2\r\n");
    CHECK(server.count().waits_for_room == 2);
    // Account a gets room. Now `both` waits for account b, and `next` must not wait for `both`.
    CHECK(workers.run_one() == 1);
    network.poll();
    CHECK(a->written == "*2\r\n:1\r\n:1\r\n");
    CHECK(server.count().under_way == 2);
    both->fail();
    CHECK(both->is_closed());
    workers.poll();
    network.poll();
    CHECK(next->written == "*2\r\n:2\r\n:3\r\n");
    CHECK(b->written == "*2\r\n:1\r\n:1\r\n");
    CHECK(server.count().under_way == 0);
    server.end();
    server.end();
    network.poll();
}

TEST_CASE("a WAIT needs room in its lane, and the memory of its coroutine counts for its connection") {
    ekiden::loop_context network;
    ekiden::loop_context workers;
    const ekiden::executor_work_guard open(workers.get_executor());
    ordered::options chosen;
    chosen.limit.lane = 1;
    chosen.limit.output = 10'000;
    ordered::server server(network.get_executor(), workers.get_executor(), chosen, ordered::make_lane_desk,
                           [] {});
    const auto add = [&](const char* requests) {
        auto fresh = std::make_shared<idle_client>(server, requests);
        server.add(fresh);
        fresh->deliver();
        return fresh;
    };
    const auto one_key = add("WAIT a 0\r\nWAIT a 0\r\nWAIT a 0\r\n");
    CHECK(server.count().under_way == 2); // one has its turn, one waits, and the lane is full
    CHECK(server.count().waits_for_room == 1);
    const auto several = add("WAIT b 0\r\nWAIT c 0\r\nWAIT d 0\r\nWAIT e 0\r\nWAIT f 0\r\n");
    CHECK(server.count().under_way == 2 + 4); // 4 coroutines need more than 10,000 bytes
    while (server.count().under_way != 0) {
        workers.poll();
        network.poll();
    }
    CHECK(one_key->written.starts_with("*2\r\n:1\r\n:0\r\n"));
    CHECK(several->written.starts_with("*2\r\n:1\r\n:0\r\n"));
    server.end();
    server.end();
    network.poll();
}
