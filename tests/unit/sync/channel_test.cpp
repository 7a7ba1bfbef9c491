// Channels between threads: unbounded, bounded and rendezvous.
#include "stress.hpp"

#include <ekiden/sync/channel.hpp>

#include <tests/unit/asleep.hpp>

#include <doctest/doctest.h>

#include <array>
#include <chrono>
#include <memory>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <thread>
#include <vector>

using namespace std::chrono_literals;
using ekiden::channel;
using ekiden::queue_status;

namespace {

constexpr std::size_t unbounded = channel<int>::unbounded;

/// Counts the live objects.
struct counted {
    inline static std::atomic<int> alive{0};
    int value;

    explicit counted(int v) noexcept : value(v) { ++alive; }
    counted(counted&& other) noexcept : value(other.value) { ++alive; }
    ~counted() { --alive; }
};

/// Throws in the move that makes `left` 0.
struct fragile {
    int* left;
    int value;

    fragile(int& moves, int v) : left(&moves), value(v) {}
    fragile(fragile&& other) : left(other.left), value(other.value) {
        if (--*left == 0) throw std::runtime_error("move");
    }
};

} // namespace

TEST_CASE("a channel passes on every item once, and the items of each producer in order") {
    for (const std::size_t capacity :
         {std::size_t{0}, std::size_t{1}, std::size_t{2}, std::size_t{7}, std::size_t{1024}, unbounded}) {
        CAPTURE(capacity);
        constexpr int producers = 3;
        constexpr int consumers = 3;
        const int items = capacity == 0 ? 1000 : 4000;
        channel<long> ch(capacity);
        std::atomic<long> sum{0};
        std::atomic<bool> is_wrong{false};
        std::atomic<int> producing{producers};
        stress::together(producers + consumers, [&](int i, stress::noise& noise) {
            if (i < producers) {
                for (int k = 0; k < items; ++k) {
                    const long item = long{k} * producers + i;
                    if (k % 5 == 0)
                        while (ch.push_for(long{item}, 20us) != queue_status::done) {
                        }
                    else if (k % 7 == 0)
                        while (ch.try_push(long{item}) != queue_status::done) std::this_thread::yield();
                    else
                        (void)ch.push(item);
                    noise();
                }
                if (producing.fetch_sub(1) == 1) ch.close();
                return;
            }
            std::array<long, producers> last;
            last.fill(-1);
            for (;;) {
                const std::uint32_t kind = noise.below(4);
                const auto item = kind == 0 ? ch.pop_for(20us) : kind == 1 ? ch.try_pop() : ch.pop();
                if (item.status() == queue_status::closed) break;
                if (!item) continue;
                long& before = last[static_cast<std::size_t>(*item % producers)];
                if (before >= *item) is_wrong = true;
                before = *item;
                sum += *item;
                noise();
            }
        });
        const long n = long{items} * producers;
        CHECK_FALSE(is_wrong);
        CHECK(sum == n * (n - 1) / 2);
        CHECK(ch.size() == 0);
    }
}

TEST_CASE("a channel is unbounded by default, and reports its capacity and its size") {
    channel<int> ch;
    CHECK(ch.capacity() == unbounded);
    for (int i = 0; i < 1000; ++i) REQUIRE(ch.try_push(i) == queue_status::done);
    CHECK(ch.size() == 1000);
    for (int i = 0; i < 1000; ++i) REQUIRE(ch.try_pop() == i);
    CHECK(ch.size() == 0);
    CHECK(ch.try_pop().status() == queue_status::would_wait);

    channel<int> bounded(3);
    CHECK(bounded.capacity() == 3);
    for (int round = 0; round < 10; ++round) {
        for (int i = 0; i < 3; ++i) REQUIRE(bounded.try_push(i) == queue_status::done);
        REQUIRE(bounded.size() == 3);
        REQUIRE(bounded.try_push(3) == queue_status::would_wait);
        for (int i = 0; i < 3; ++i) REQUIRE(bounded.try_pop() == i);
        REQUIRE(bounded.try_pop().status() == queue_status::would_wait);
    }
    CHECK(channel<int>(0).capacity() == 0);
}

TEST_CASE("a push that fails leaves its argument unchanged") {
    for (const std::size_t capacity : {0U, 1U}) {
        CAPTURE(capacity);
        channel<std::unique_ptr<int>> ch(capacity);
        if (capacity == 1) CHECK(ch.push(std::make_unique<int>(7)) == queue_status::done);
        auto item = std::make_unique<int>(8);
        CHECK(ch.try_push(std::move(item)) == queue_status::would_wait);
        CHECK(ch.push_for(std::move(item), 1ms) == queue_status::timed_out);
        CHECK(ch.push_until(std::move(item), std::chrono::steady_clock::now() + 1ms)
              == queue_status::timed_out);
        std::stop_source stop;
        stop.request_stop();
        CHECK(ch.push(std::move(item), stop.get_token()) == queue_status::stopped);
        ch.close();
        CHECK(ch.push(std::move(item)) == queue_status::closed);
        CHECK(ch.try_push(std::move(item)) == queue_status::closed);
        REQUIRE(item != nullptr);
        CHECK(*item == 8);
        if (capacity == 1) CHECK(**ch.pop() == 7);
        CHECK(ch.pop().status() == queue_status::closed);
    }
}

TEST_CASE("a waiting push or pop of a channel gives up at a stop request and leaves no trace") {
    for (const std::size_t capacity : {0U, 1U}) {
        CAPTURE(capacity);
        channel<int> ch(capacity);
        std::stop_source stop;
        std::thread popping = ekiden_test::start_asleep(
            [&] { CHECK(ch.pop(stop.get_token()).status() == queue_status::stopped); });
        stop.request_stop();
        popping.join();
        CHECK(ch.try_push(1) == (capacity == 0 ? queue_status::would_wait : queue_status::done));
        std::stop_source other;
        std::thread pushing =
            ekiden_test::start_asleep([&] { CHECK(ch.push(2, other.get_token()) == queue_status::stopped); });
        other.request_stop();
        pushing.join();
        if (capacity == 1) CHECK(ch.try_pop() == 1);
        CHECK(ch.try_pop().status() == queue_status::would_wait);
    }
}

TEST_CASE("close wakes all waiting pushes and pops, and accepted items can still be popped") {
    for (const std::size_t capacity : {std::size_t{0}, std::size_t{2}, unbounded}) {
        CAPTURE(capacity);
        channel<int> ch(capacity);
        std::vector<std::thread> waiting;
        const bool can_fill = capacity == 2;
        if (can_fill) CHECK((ch.push(1) == queue_status::done && ch.push(2) == queue_status::done));
        for (int i = 0; i < 3; ++i) {
            waiting.push_back(ekiden_test::start_asleep([&ch, can_fill] {
                if (can_fill)
                    CHECK(ch.push(3) == queue_status::closed);
                else
                    CHECK(ch.pop().status() == queue_status::closed);
            }));
        }
        CHECK_FALSE(ch.is_closed());
        ch.close();
        ch.close();
        for (std::thread& one : waiting) one.join();
        CHECK(ch.is_closed());
        CHECK(ch.push(4) == queue_status::closed);
        if (can_fill) CHECK((ch.pop() == 1 && ch.pop() == 2));
        CHECK(ch.pop().status() == queue_status::closed);
        CHECK(ch.try_pop().status() == queue_status::closed);
    }
    channel<int> meeting(0);
    std::thread pushing = ekiden_test::start_asleep([&] { CHECK(meeting.push(3) == queue_status::closed); });
    meeting.close();
    pushing.join();
}

TEST_CASE("what precedes close is visible to the threads that find the channel closed") {
    for (const std::size_t capacity : {std::size_t{0}, std::size_t{4}, unbounded}) {
        CAPTURE(capacity);
        channel<int> ch(capacity);
        int last = 0;
        std::thread checking([&] {
            while (!ch.is_closed()) std::this_thread::yield();
            CHECK(last == 1);
        });
        std::thread popping([&] {
            CHECK(ch.pop().status() == queue_status::closed);
            CHECK(last == 1);
        });
        last = 1;
        ch.close();
        checking.join();
        popping.join();
    }
}

TEST_CASE("no accepted item is lost when close races with pushes") {
    for (unsigned round = 0; round < 300; ++round) {
        channel<int> ch(std::array{unbounded, std::size_t{8}, std::size_t{1}, std::size_t{0}}[round % 4]);
        std::atomic<int> accepted{0};
        int popped = 0;
        bool is_wrong = false;
        stress::together(4, [&](int i, stress::noise& noise) {
            if (i == 0) {
                for (unsigned k = 0; k < round % 50; ++k) noise();
                ch.close();
            } else if (i == 1) {
                for (;;) {
                    const auto item = ch.pop();
                    if (item.has_value() != (item.status() == queue_status::done)) is_wrong = true;
                    if (!item) break;
                    ++popped;
                }
            } else {
                while (ch.push(1) == queue_status::done) ++accepted;
            }
        });
        REQUIRE(popped == accepted);
        REQUIRE_FALSE(is_wrong);
    }
}

TEST_CASE("a push into a rendezvous returns only when a pop has taken the item") {
    channel<int> ch(0);
    std::atomic<bool> has_returned{false};
    std::thread pushing = ekiden_test::start_asleep([&] {
        CHECK(ch.push(5) == queue_status::done);
        has_returned = true;
    });
    CHECK_FALSE(has_returned);
    CHECK(ch.size() == 0);
    CHECK(ch.try_push(6) == queue_status::would_wait); // another push waits, and no pop
    CHECK(ch.try_pop() == 5);
    pushing.join();
    CHECK(ch.try_pop().status() == queue_status::would_wait);

    std::thread popping = ekiden_test::start_asleep([&] { CHECK(ch.pop() == 7); });
    CHECK(ch.try_push(7) == queue_status::done);
    popping.join();
}

TEST_CASE("the operations that wait at a channel are served in the order of arrival") {
    for (const std::size_t capacity : {0U, 1U}) {
        CAPTURE(capacity);
        channel<int> ch(capacity);
        if (capacity == 1) CHECK(ch.push(0) == queue_status::done);
        std::vector<std::thread> waiting;
        for (int i = 1; i <= 4; ++i)
            waiting.push_back(
                ekiden_test::start_asleep([&ch, i] { CHECK(ch.push(i) == queue_status::done); }));
        for (int i = capacity == 1 ? 0 : 1; i <= 4; ++i) CHECK(ch.pop() == i);
        for (std::thread& one : waiting) one.join();
    }
}

TEST_CASE("waiting pushes of a channel get room without another pop") {
    // Only the first pop finds a mark. Each push that was served serves the next push.
    for (const std::size_t capacity : {2U, 5U}) {
        CAPTURE(capacity);
        channel<int> ch(capacity);
        for (int i = 0; i != static_cast<int>(capacity); ++i) CHECK(ch.push(i) == queue_status::done);
        std::vector<std::thread> waiting;
        for (int i = 0; i != static_cast<int>(capacity); ++i)
            waiting.push_back(
                ekiden_test::start_asleep([&ch] { CHECK(ch.push_for(7, 1h) == queue_status::done); }));
        for (int i = 0; i != static_cast<int>(capacity); ++i) CHECK(ch.try_pop() == i);
        for (std::thread& one : waiting) one.join();
        CHECK(ch.size() == capacity);
    }
}

TEST_CASE("a push whose move throws while it waits serves the next waiting push") {
    int never = 1000;
    int first_move = 1;
    channel<fragile> ch(1);
    CHECK(ch.push(fragile(never, 0)) == queue_status::done);
    std::thread first = ekiden_test::start_asleep([&] {
        fragile item(first_move, 1);
        CHECK_THROWS_AS((void)ch.push(std::move(item)), std::runtime_error);
    });
    std::thread second =
        ekiden_test::start_asleep([&] { CHECK(ch.push(fragile(never, 2)) == queue_status::done); });
    CHECK(ch.try_pop()->value == 0);
    first.join();
    CHECK(ch.pop()->value == 2);
    second.join();
}

TEST_CASE("a channel destroys the items that no pop has taken") {
    for (const std::size_t capacity : {std::size_t{5}, std::size_t{300}, unbounded}) {
        CAPTURE(capacity);
        {
            channel<counted> ch(capacity);
            for (int i = 0; i < 300; ++i) (void)ch.try_push(counted(i));
            for (int i = 0; i < 3; ++i) CHECK(ch.try_pop()->value == i);
            CHECK(counted::alive == static_cast<int>(ch.size()));
            CHECK(counted::alive > 0);
        }
        CHECK(counted::alive == 0);
    }
}

TEST_CASE("if the move of an item throws, a push has no effect, and a pop destroys the item") {
    for (const std::size_t capacity : {std::size_t{2}, unbounded}) {
        CAPTURE(capacity);
        channel<fragile> ch(capacity);
        int moves = 1;
        CHECK_THROWS_AS((void)ch.try_push(fragile(moves, 1)), std::runtime_error);
        CHECK(ch.try_pop().status() == queue_status::would_wait);
        moves = 100;
        CHECK(ch.try_push(fragile(moves, 2)) == queue_status::done);
        CHECK(ch.try_pop()->value == 2);
        CHECK(ch.try_push(fragile(moves, 3)) == queue_status::done);
        moves = 1;
        CHECK_THROWS_AS((void)ch.try_pop(), std::runtime_error);
        moves = 100;
        CHECK(ch.try_pop().status() == queue_status::would_wait);
        for (int i = 0; i < 200; ++i) { // the skipped places are used again
            moves = 1;
            CHECK_THROWS_AS((void)ch.try_push(fragile(moves, i)), std::runtime_error);
            moves = 100;
            CHECK(ch.try_push(fragile(moves, i)) == queue_status::done);
            CHECK(ch.pop()->value == i);
        }
    }
}

TEST_CASE("if the move of an item throws in a rendezvous, both the push and the pop throw") {
    channel<fragile> ch(0);
    int moves = 1;
    // Both threads catch the same object. ThreadSanitizer does not see that libstdc++ counts its references.
    const auto throws = [](const auto& call) {
        try {
            call();
        } catch (const std::runtime_error&) {
            return true;
        }
        return false;
    };
    bool has_pop_thrown = false;
    std::thread popping =
        ekiden_test::start_asleep([&] { has_pop_thrown = throws([&] { (void)ch.pop(); }); });
    CHECK(throws([&] { (void)ch.push(fragile(moves, 1)); }));
    popping.join();
    CHECK(has_pop_thrown);
    moves = 100;
    std::thread again = ekiden_test::start_asleep([&] { CHECK(ch.pop()->value == 2); });
    CHECK(ch.push(fragile(moves, 2)) == queue_status::done);
    again.join();
}

TEST_CASE("push_range adds items in order until the limit, and pop_up_to takes what is there") {
    channel<int> ch(4);
    std::vector<int> items(6);
    std::iota(items.begin(), items.end(), 0);
    std::stop_source stop;
    stop.request_stop();
    const ekiden::pushed_range some = ch.push_range(items, stop.get_token());
    CHECK(some.count == 4);
    CHECK(some.status == queue_status::stopped);
    std::vector<int> got;
    CHECK(ch.pop_up_to(got, 0) == queue_status::done);
    CHECK(got.empty());
    CHECK(ch.pop_up_to(got, 3) == queue_status::done);
    CHECK(got == std::vector<int>{0, 1, 2});
    CHECK(ch.push_range(std::span(items).subspan(some.count)).count == 2);
    CHECK(ch.pop_up_to(got, 100) == queue_status::done);
    CHECK(got == items);
    CHECK(ch.pop_up_to(got, 1, stop.get_token()) == queue_status::stopped);
    ch.close();
    CHECK(ch.pop_up_to(got, 1) == queue_status::closed);
    CHECK(ch.push_range(items).status == queue_status::closed);
    CHECK(got == items);
}

TEST_CASE("a channel of bool gives its item, not whether there is one") {
    channel<bool> ch;
    (void)ch.push(false);
    const std::optional<bool> item(ch.pop());
    REQUIRE(item.has_value());
    CHECK_FALSE(*item);
}

TEST_CASE("a capacity beyond the memory is refused") {
    CHECK_THROWS_AS(channel<int>(unbounded - 1), std::bad_alloc);
}
