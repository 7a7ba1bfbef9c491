#include "stress.hpp"

#include <ekiden/sync/sequencer.hpp>

#include <doctest/doctest.h>

#include <stdexcept>

using ekiden::sequencer;

TEST_CASE("requests are processed one at a time in the order of their numbers, and replies carry them") {
    constexpr int threads = 6;
    constexpr int calls = 3000;
    sequencer<int, long> queue;
    long total = 0; // the serving thread's
    std::uint64_t expected = 0;
    bool wrong = false;
    std::thread server([&] {
        queue.serve([&](std::uint64_t number, int add) {
            wrong |= number != expected++;
            return total += add;
        });
    });
    std::vector<long> value_of(threads * calls, -1);
    stress::together(threads, [&](int, stress::noise& noise) {
        std::uint64_t last = 0;
        for (int r = 0; r < calls; ++r) {
            const auto [number, value] = *queue.call(1);
            REQUIRE(number < value_of.size());
            value_of[number] = value;
            if (r > 0 && number <= last) FAIL("a later call got an earlier number");
            last = number;
            noise();
        }
    });
    queue.close();
    server.join();
    CHECK_FALSE(wrong);
    for (std::size_t i = 0; i < value_of.size(); ++i) REQUIRE(value_of[i] == static_cast<long>(i) + 1);
    CHECK(queue.processed() == threads * calls);
    CHECK(queue.longest_queue() >= 1);
    CHECK(queue.longest_queue() <= threads);
}

TEST_CASE("the thread that started the callers can serve them when it likes") {
    sequencer<int, int> queue;
    CHECK(queue.serve_ready([](std::uint64_t, int x) { return x; }) == 0);
    std::vector<std::thread> callers;
    for (int i = 0; i < 4; ++i) {
        callers.emplace_back([&, i] { CHECK(queue.call(int{i})->reply == i * i); });
    }
    std::size_t served = 0;
    while (served < 4) served += queue.serve_ready([](std::uint64_t, int x) { return x * x; });
    for (auto& c : callers) c.join();
}

TEST_CASE("a handler's exception reaches its caller and nobody else") {
    sequencer<int, int> queue;
    std::thread server([&] {
        queue.serve([](std::uint64_t, int x) {
            if (x < 0) throw std::domain_error("negative");
            return x;
        });
    });
    CHECK(queue.call(1)->reply == 1);
    CHECK_THROWS_AS((void)queue.call(-1), std::domain_error);
    CHECK(queue.call(2)->reply == 2);
    queue.close();
    queue.close();
    server.join();
    CHECK(queue.is_closed());
    CHECK_FALSE(queue.call(3));
}

TEST_CASE("closing while callers are at work loses no call: each is processed or refused") {
    for (int round = 0; round < 200; ++round) {
        sequencer<int, int> queue;
        std::atomic<int> accepted{0};
        int processed = 0;
        std::thread server([&] { queue.serve([&](std::uint64_t, int x) { return ++processed, x; }); });
        stress::together(4, [&](int i, stress::noise& noise) {
            for (int r = 0; r < 20; ++r) {
                if (i == 0 && r == 10) queue.close();
                if (!queue.call(r)) return;
                accepted.fetch_add(1);
                noise();
            }
        });
        server.join();
        REQUIRE(processed == accepted);
    }
}
