#include "stress.hpp"

#include <ekiden/sync/watermark_buffer.hpp>

#include <tests/unit/asleep.hpp>

#include <doctest/doctest.h>

using namespace std::chrono_literals;
using ekiden::queue_status;
using ekiden::watermark_buffer;

TEST_CASE("producers wait from the high mark on until the buffer has drained to the low one") {
    watermark_buffer<int> buffer(1, 4);
    for (int i = 0; i < 4; ++i) CHECK(buffer.try_push(int{i}) == queue_status::done);
    CHECK(buffer.try_push(4) == queue_status::would_wait);
    CHECK(buffer.pop() == 0);
    CHECK(buffer.pop() == 1);
    CHECK(buffer.push_for(4, 1ms) == queue_status::timed_out); // 2 inside: still draining
    CHECK(buffer.pop() == 2);
    CHECK(buffer.try_push(4) == queue_status::done);
    CHECK(buffer.pop() == 3);
    CHECK(buffer.pop() == 4);
    CHECK(buffer.size() == 0);
    CHECK(buffer.high_mark() == 4);
}

TEST_CASE("all waiting producers go on when the low mark is reached, as far as there is room") {
    watermark_buffer<int> buffer(0, 2);
    (void)buffer.push(0);
    (void)buffer.push(1);
    std::vector<std::thread> producers;
    for (int i = 0; i < 3; ++i) producers.push_back(ekiden_test::start_asleep([&] { (void)buffer.push(7); }));
    CHECK(buffer.pop() == 0);
    CHECK(buffer.size() == 1);
    CHECK(buffer.pop() == 1);
    while (buffer.size() < 2) std::this_thread::yield();
    for (int i = 0; i < 3; ++i) CHECK(buffer.pop() == 7);
    for (auto& p : producers) p.join();
}

TEST_CASE("every item passes once, whatever the marks") {
    for (const std::size_t low : {0U, 3U, 15U}) {
        watermark_buffer<long> buffer(low, 16);
        std::atomic<long> sum{0};
        constexpr int items = 5000;
        stress::together(6, [&](int i, stress::noise& noise) {
            for (int k = 0; k < items; ++k) {
                if (i % 2 == 0)
                    (void)buffer.push(k);
                else
                    sum += *buffer.pop();
                noise();
            }
        });
        CHECK(sum == 3L * items * (items - 1) / 2);
    }
}

TEST_CASE("closing a draining buffer ends the producers and leaves the items") {
    watermark_buffer<int> buffer(0, 1);
    (void)buffer.push(5);
    std::thread producer = ekiden_test::start_asleep(
        [&] { CHECK(buffer.push(6, ekiden::wait_limit()) == queue_status::closed); });
    buffer.close();
    producer.join();
    CHECK(buffer.pop() == 5);
    CHECK(buffer.pop() == std::nullopt);
}

TEST_CASE("marks out of order are refused") {
    CHECK_THROWS_WITH(watermark_buffer<int>(4, 4),
                      "watermark_buffer: low is 4, allowed is 0 to high - 1 = 3");
    CHECK_THROWS_AS(watermark_buffer<int>(0, 0), std::invalid_argument);
}
