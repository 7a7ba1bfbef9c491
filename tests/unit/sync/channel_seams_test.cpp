// Channels between threads, at the seams of their promises: limits beside partners, batches that end early,
// moves that throw, and the lock that the fast path does not take.
#include "stress.hpp"

#include <ekiden/sync/channel.hpp>
#include <ekiden/sync/detail/lock_access.hpp>

#include <tests/unit/asleep.hpp>

#include <doctest/doctest.h>

#include <array>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

using namespace std::chrono_literals;
using ekiden::channel;
using ekiden::queue_status;

namespace {

constexpr std::size_t no_bound = channel<int>::unbounded;

/// Throws in each move while `value` is the forbidden one. If `forbidden_after` is set to n, the move after n
/// other moves throws.
struct moody {
    inline static int forbidden = -1;
    inline static int forbidden_after = -1;
    int value;

    explicit moody(int v) : value(v) {}
    moody(moody&& other) : value(other.value) {
        if (value == forbidden) throw std::runtime_error("move");
        if (forbidden_after >= 0 && forbidden_after-- == 0) throw std::runtime_error("move");
    }
};

ekiden::wait_limit stop_of(const std::stop_source& stop) { return {stop.get_token()}; }

} // namespace

TEST_CASE("a push and a pop of a channel take no lock unless they must wait") {
    for (const std::size_t capacity : {std::size_t{4}, no_bound}) {
        CAPTURE(capacity);
        channel<int> ch(capacity);
        ekiden::state_lock& lock = ekiden::detail::lock_access::core(ch);
        REQUIRE(lock.try_enter(ekiden::state_lock::any_state)); // from here on, the lock would never be free
        for (int round = 0; round != 300; ++round) {
            std::array<int, 2> both{2, 3};
            REQUIRE(ch.push(1) == queue_status::done);
            REQUIRE(ch.push_range(both).count == 2);
            REQUIRE(ch.try_push(4) == queue_status::done);
            if (capacity == 4) REQUIRE(ch.try_push(5) == queue_status::would_wait);
            std::vector<int> got;
            REQUIRE(ch.pop() == 1);
            REQUIRE(ch.pop_up_to(got, 2) == queue_status::done);
            REQUIRE(got == std::vector<int>{2, 3});
            REQUIRE(ch.try_pop() == 4);
            REQUIRE(ch.try_pop().status() == queue_status::would_wait);
        }
        lock.exit(channel<int>::open);
    }
}

TEST_CASE("a waiting push or pop of a channel gives up at its deadline and leaves no trace") {
    for (const std::size_t capacity : {std::size_t{0}, std::size_t{1}, no_bound}) {
        CAPTURE(capacity);
        channel<int> ch(capacity);
        CHECK(ch.pop_for(1ms).status() == queue_status::timed_out);
        CHECK(ch.pop_until(std::chrono::system_clock::now() - 1h).status() == queue_status::timed_out);
        if (capacity == no_bound) continue;
        if (capacity == 1) CHECK(ch.push(1) == queue_status::done);
        CHECK(ch.push_for(2, 1ms) == queue_status::timed_out);
        CHECK(ch.push_until(2, std::chrono::steady_clock::now() - 1h) == queue_status::timed_out);
        if (capacity == 1) CHECK(ch.try_pop() == 1);
        CHECK(ch.try_pop().status() == queue_status::would_wait);
    }
}

TEST_CASE("a push or a pop beside a waiting partner is done, even if its stop was requested before") {
    std::stop_source stop;
    stop.request_stop();
    channel<int> ch(0);
    std::thread popping = ekiden_test::start_asleep([&] { CHECK(ch.pop() == 1); });
    CHECK(ch.push(1, stop.get_token()) == queue_status::done);
    popping.join();
    std::thread pushing = ekiden_test::start_asleep([&] { CHECK(ch.push(2) == queue_status::done); });
    CHECK(ch.pop(stop.get_token()) == 2);
    pushing.join();
    CHECK(ch.push(3, stop.get_token()) == queue_status::stopped);
    CHECK(ch.pop_until(std::chrono::steady_clock::now() - 1h).status() == queue_status::timed_out);
}

TEST_CASE("a stop that races with a rendezvous leaves an item with both partners or with none") {
    for (int round = 0; round != 300; ++round) {
        channel<std::unique_ptr<int>> ch(0);
        std::stop_source stop;
        std::array<bool, 2> is_done{};
        std::unique_ptr<int> item = std::make_unique<int>(round);
        stress::together(3, [&](int i, stress::noise& noise) {
            if (i == 0) {
                for (int k = 0; k < round % 50; ++k) noise();
                stop.request_stop();
            } else if (i == 1) {
                is_done[0] = ch.push(std::move(item), stop.get_token()) == queue_status::done;
            } else {
                is_done[1] = ch.pop(stop.get_token()).has_value();
            }
        });
        REQUIRE(is_done[0] == is_done[1]);
        REQUIRE((item == nullptr) == is_done[0]);
    }
}

TEST_CASE("a deadline ends a push_range that is partly done, and the other items are unchanged") {
    std::vector<std::unique_ptr<int>> items;
    for (int i = 0; i != 5; ++i) items.push_back(std::make_unique<int>(i));
    channel<std::unique_ptr<int>> ch(3);
    const ekiden::pushed_range some = ch.push_range(items, ekiden::wait_limit::after(1ms));
    CHECK(some.count == 3);
    CHECK(some.status == queue_status::timed_out);
    CHECK((items[2] == nullptr && items[3] != nullptr && items[4] != nullptr));

    // In a rendezvous, the partner takes two items, and then requests the stop.
    channel<std::unique_ptr<int>> meeting(0);
    std::stop_source stop;
    std::thread popping = ekiden_test::start_asleep([&] {
        CHECK(**meeting.pop() == 3);
        CHECK(**meeting.pop() == 4);
        stop.request_stop();
    });
    items.push_back(std::make_unique<int>(5));
    const ekiden::pushed_range rest = meeting.push_range(std::span(items).subspan(3), stop_of(stop));
    popping.join();
    CHECK(rest.count == 2);
    CHECK(rest.status == queue_status::stopped);
    CHECK((items[4] == nullptr && items[5] != nullptr));
}

TEST_CASE("close ends a push_range that waits for room, and the items before it can be popped") {
    for (const std::size_t capacity : {0U, 1U, 2U}) {
        CAPTURE(capacity);
        channel<int> ch(capacity);
        std::thread pushing = ekiden_test::start_asleep([&] {
            std::array<int, 4> items{0, 1, 2, 3};
            const ekiden::pushed_range some = ch.push_range(items);
            CHECK(some.count == capacity);
            CHECK(some.status == queue_status::closed);
        });
        ch.close();
        pushing.join();
        for (int i = 0; i != static_cast<int>(capacity); ++i) CHECK(ch.pop() == i);
        CHECK(ch.pop().status() == queue_status::closed);
    }
}

TEST_CASE("a move that throws in a batch keeps the items before it, and leaves the items behind it") {
    for (const std::size_t capacity : {std::size_t{8}, no_bound}) {
        CAPTURE(capacity);
        moody::forbidden = -1;
        channel<moody> ch(capacity);
        std::vector<moody> items;
        items.reserve(4);
        for (int i = 0; i != 4; ++i) items.emplace_back(i);
        moody::forbidden = 2;
        CHECK_THROWS_AS((void)ch.push_range(items), std::runtime_error);
        moody::forbidden = -1;
        CHECK(ch.push_range(std::span(items).subspan(2)).count == 2);

        std::vector<moody> got;
        got.reserve(8);
        moody::forbidden = 2;
        CHECK_THROWS_AS((void)ch.pop_up_to(got, 8), std::runtime_error);
        moody::forbidden = -1;
        REQUIRE(got.size() == 2);
        CHECK((got[0].value == 0 && got[1].value == 1));
        CHECK(ch.pop()->value == 3); // the item that could not be moved is gone
        CHECK(ch.try_pop().status() == queue_status::would_wait);
    }
}

TEST_CASE("a move that throws in a waiting pop reaches the thread of the pop, and the push is done") {
    for (const std::size_t capacity : {std::size_t{1}, no_bound}) {
        CAPTURE(capacity);
        moody::forbidden = -1;
        channel<moody> ch(capacity);
        bool has_thrown = false;
        std::thread popping = ekiden_test::start_asleep([&] {
            try {
                (void)ch.pop();
            } catch (const std::runtime_error&) {
                has_thrown = true;
            }
        });
        moody item(7);
        moody::forbidden_after = 1; // the first move is that of the push
        CHECK(ch.push(std::move(item)) == queue_status::done);
        popping.join();
        CHECK(has_thrown);
        CHECK(moody::forbidden_after == -1);
        CHECK(ch.try_pop().status() == queue_status::would_wait);
    }
}
