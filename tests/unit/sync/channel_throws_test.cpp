// Channels whose items throw when they are moved: a push that throws has no effect.
#include "stress.hpp"

#include <ekiden/sync/channel.hpp>

#include <tests/unit/asleep.hpp>

#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

using namespace std::chrono_literals;
using ekiden::channel;
using ekiden::queue_status;

namespace {

/// Throws in move number `moves_left` + 1. A negative number means that no move throws.
struct brittle {
    inline static std::atomic<int> alive{0};
    int value;
    int moves_left;

    explicit brittle(int v, int moves = -1) noexcept : value(v), moves_left(moves) { ++alive; }
    brittle(brittle&& other) : value(other.value), moves_left(other.moves_left) {
        if (moves_left == 0) throw std::runtime_error("move");
        if (moves_left > 0) --moves_left;
        ++alive;
    }
    ~brittle() { --alive; }
};

constexpr std::array<std::size_t, 4> sizes{1, 2, 40, channel<brittle>::unbounded};

void fail_to_push(channel<brittle>& ch) {
    brittle item(-7, 0);
    CHECK_THROWS_AS((void)ch.try_push(std::move(item)), std::runtime_error);
    CHECK_THROWS_AS((void)ch.push_for(std::move(item), 5s), std::runtime_error);
}

/// Polls `ch` until a pop has an item. Returns -1 if there is none for a long time.
int poll(channel<brittle>& ch, bool in_batches) {
    const auto end = std::chrono::steady_clock::now() + 20s;
    while (std::chrono::steady_clock::now() < end) {
        if (in_batches) {
            std::vector<brittle> got;
            ch.pop_available(got, 1);
            if (!got.empty()) return got.front().value;
        } else if (auto item = ch.try_pop()) {
            return item->value;
        }
        std::this_thread::yield();
    }
    return -1;
}

} // namespace

TEST_CASE("a push that throws takes no room in a channel, and does not count") {
    for (const std::size_t capacity : sizes) {
        CAPTURE(capacity);
        channel<brittle> ch(capacity);
        const int most = capacity == channel<brittle>::unbounded ? 300 : static_cast<int>(capacity);
        for (int round = 0; round != 3; ++round) {
            for (int i = 0; i != most; ++i) {
                fail_to_push(ch);
                REQUIRE(ch.size() == static_cast<std::size_t>(i));
                REQUIRE(ch.try_push(brittle(i)) == queue_status::done);
            }
            if (capacity != channel<brittle>::unbounded) // a push that finds no room moves nothing
                REQUIRE(ch.try_push(brittle(0, 0)) == queue_status::would_wait);
            for (int i = 0; i != most; ++i) REQUIRE(ch.try_pop()->value == i);
            REQUIRE(ch.try_pop().status() == queue_status::would_wait);
        }
    }
    CHECK(brittle::alive == 0);
}

TEST_CASE("a push that waits behind a push that throws gets its room, if a thread only polls") {
    for (const bool in_batches : {false, true}) {
        CAPTURE(in_batches);
        channel<brittle> ch(1);
        CHECK(ch.push(brittle(0)) == queue_status::done);
        std::thread first = ekiden_test::start_asleep([&] {
            brittle item(1, 0);
            CHECK_THROWS_AS((void)ch.push(std::move(item)), std::runtime_error);
        });
        std::thread second =
            ekiden_test::start_asleep([&] { CHECK(ch.push_for(brittle(2), 25s) == queue_status::done); });
        CHECK(poll(ch, in_batches) == 0);
        first.join();
        CHECK(poll(ch, in_batches) == 2);
        second.join();
        CHECK(ch.size() == 0);
    }
}

TEST_CASE("a pop waits on after a push that throws, and gets the next item") {
    for (const std::size_t capacity : sizes) {
        CAPTURE(capacity);
        channel<brittle> ch(capacity);
        std::array<std::thread, 2> popping;
        std::atomic<int> sum{0};
        for (std::thread& one : popping) one = ekiden_test::start_asleep([&] { sum += ch.pop()->value; });
        fail_to_push(ch);
        CHECK(ch.size() == 0);
        for (int i = 1; i <= 2; ++i) {
            CHECK(ch.push(brittle(i)) == queue_status::done);
            fail_to_push(ch);
        }
        for (std::thread& one : popping) one.join();
        CHECK(sum == 3);
        CHECK(ch.try_pop().status() == queue_status::would_wait);
    }
}

TEST_CASE("a channel in which only pushes that throw were made is closed and empty after close") {
    for (const std::size_t capacity : sizes) {
        CAPTURE(capacity);
        channel<brittle> ch(capacity);
        fail_to_push(ch);
        ch.close();
        CHECK(ch.size() == 0);
        CHECK(ch.push(brittle(1, 0)) == queue_status::closed); // moves nothing
        CHECK(ch.try_pop().status() == queue_status::closed);
        CHECK(ch.pop().status() == queue_status::closed);
        std::vector<brittle> none;
        CHECK(ch.pop_up_to(none, 5) == queue_status::closed);
    }
}

TEST_CASE("a pop that throws makes room for a push that waits") {
    for (const bool waits : {false, true}) {
        CAPTURE(waits);
        channel<brittle> ch(1);
        CHECK(ch.push(brittle(0, 1)) == queue_status::done);
        std::thread pushing =
            ekiden_test::start_asleep([&] { CHECK(ch.push_for(brittle(1), 25s) == queue_status::done); });
        if (waits)
            CHECK_THROWS_AS((void)ch.pop(), std::runtime_error);
        else
            CHECK_THROWS_AS((void)ch.try_pop(), std::runtime_error);
        pushing.join();
        CHECK(ch.try_pop()->value == 1);
    }
    CHECK(brittle::alive == 0);
}

TEST_CASE("pushes that throw, beside other pushes, lose no item and keep the order of each producer") {
    constexpr int producers = 3;
    constexpr int items = 1000;
    for (const std::size_t capacity : sizes) {
        CAPTURE(capacity);
        channel<brittle> ch(capacity);
        std::atomic<int> producing{producers};
        std::atomic<int> popped{0};
        std::atomic<int> refused{0};
        std::atomic<bool> is_wrong{false};
        stress::together(producers + 2, [&](int i, stress::noise& noise) {
            if (i < producers) {
                for (int k = 0; k != items; ++k) {
                    brittle item(k * producers + i);
                    if (ch.push(std::move(item)) != queue_status::done) is_wrong = true;
                    noise();
                    if (k % 3 != 0) continue;
                    try {
                        brittle bad(-1, 0);
                        if (ch.try_push(std::move(bad)) != queue_status::would_wait) is_wrong = true;
                    } catch (const std::runtime_error&) {
                        ++refused;
                    }
                }
                if (producing.fetch_sub(1) == 1) ch.close();
                return;
            }
            std::array<int, producers> last;
            last.fill(-1);
            for (;;) {
                auto item = i == producers ? ch.try_pop() : ch.pop();
                if (item.status() == queue_status::closed) break;
                if (ch.size() > capacity) is_wrong = true;
                if (!item) continue;
                int& before = last[static_cast<std::size_t>(item->value % producers)];
                if (before >= item->value) is_wrong = true;
                before = item->value;
                ++popped;
                noise();
            }
        });
        CHECK_FALSE(is_wrong);
        CHECK(popped == producers * items);
        CHECK(ch.size() == 0);
        CHECK(brittle::alive == 0);
    }
}
