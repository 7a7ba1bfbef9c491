#include "stress.hpp"

#include <ekiden/sync/bounded_buffer.hpp>

#include <tests/unit/asleep.hpp>

#include <doctest/doctest.h>

#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <thread>
#include <type_traits>

using namespace std::chrono_literals;
using ekiden::bounded_buffer;
using ekiden::queue_status;

TEST_CASE("every item comes out once, in each producer's order, whatever the capacity") {
    for (const std::size_t capacity : {1U, 2U, 7U, 1024U}) {
        constexpr int producers = 3;
        constexpr int consumers = 3;
        constexpr int items = 4000;
        bounded_buffer<long> buffer(capacity);
        std::atomic<long> sum{0};
        std::atomic<bool> wrong{false};
        std::atomic<int> producing{producers};
        stress::together(producers + consumers, [&](int i, stress::noise& noise) {
            if (i < producers) {
                for (int k = 0; k < items; ++k) {
                    const long item = long{k} * producers + i;
                    if (k % 5 == 0)
                        while (buffer.push_for(long{item}, 20us) != queue_status::done) {
                        }
                    else
                        (void)buffer.push(item);
                    noise();
                }
                if (producing.fetch_sub(1) == 1) buffer.close();
                return;
            }
            long last[producers];
            std::fill(std::begin(last), std::end(last), -1L);
            for (;;) {
                const auto item = noise.below(4) == 0 ? buffer.pop_for(20us) : buffer.pop();
                if (item.status() == queue_status::closed) break;
                if (item.status() == queue_status::timed_out) continue;
                if (last[*item % producers] >= *item) wrong = true;
                last[*item % producers] = *item;
                sum += *item;
                noise();
            }
        });
        constexpr long n = long{items} * producers;
        CHECK_FALSE(wrong);
        CHECK(sum == n * (n - 1) / 2);
        CHECK(buffer.size() == 0);
    }
}

TEST_CASE("pushing waits for room and popping for an item, as long as they are told") {
    bounded_buffer<std::unique_ptr<int>> buffer(1);
    CHECK(buffer.capacity() == 1);
    CHECK(buffer.try_pop().status() == queue_status::would_wait);
    CHECK(buffer.pop_for(2ms).status() == queue_status::timed_out);
    auto item = std::make_unique<int>(7);
    CHECK(buffer.try_push(std::move(item)) == queue_status::done);
    CHECK(item == nullptr);
    auto refused = std::make_unique<int>(8);
    CHECK(buffer.try_push(std::move(refused)) == queue_status::would_wait);
    CHECK(buffer.push_until(std::move(refused), std::chrono::steady_clock::now() + 2ms)
          == queue_status::timed_out);
    std::stop_source stop;
    stop.request_stop();
    CHECK(buffer.push(std::move(refused), stop.get_token()) == queue_status::stopped);
    REQUIRE(refused != nullptr);
    CHECK(*refused == 8);
    CHECK(buffer.size() == 1);
    CHECK(**buffer.pop() == 7);
}

TEST_CASE("after close the items inside can be taken out, and then every pop ends") {
    bounded_buffer<int> buffer(2);
    CHECK(buffer.push(1) == queue_status::done);
    CHECK(buffer.push(2) == queue_status::done);
    std::thread producer = ekiden_test::start_asleep([&] { CHECK(buffer.push(3) == queue_status::closed); });
    buffer.close();
    buffer.close();
    producer.join();
    CHECK(buffer.is_closed());
    CHECK(buffer.try_push(4) == queue_status::closed);
    CHECK(buffer.pop() == 1);
    CHECK(buffer.pop() == 2);
    CHECK(buffer.pop() == std::nullopt);
    CHECK(buffer.pop().status() == queue_status::closed);
    CHECK(buffer.try_pop().status() == queue_status::closed);
}

TEST_CASE("a closed buffer stays closed for a thread while another thread moves an item") {
    struct item {
        const std::function<void()>* moved = nullptr;

        explicit item(const std::function<void()>& f) : moved(&f) {}
        item(item&& other) noexcept : moved(other.moved) { (*moved)(); }
        item& operator=(item&&) = delete;
        ~item() = default;
    };
    ekiden::bounded_buffer<item> buffer(1);
    int asked = 0;
    int seen = 0;
    const std::function<void()> ask = [&] { // inside the lock once the buffer is closed
        std::thread([&] { seen += buffer.is_closed(); }).join();
        ++asked;
    };
    (void)buffer.push(item(ask));
    buffer.close();
    asked = seen = 0;
    CHECK(buffer.pop().has_value());
    CHECK(asked > 0);
    CHECK(seen == asked);
}

TEST_CASE("close ends a waiting pop") {
    bounded_buffer<int> buffer(2);
    std::thread consumer = ekiden_test::start_asleep([&] { CHECK(buffer.pop() == std::nullopt); });
    buffer.close();
    consumer.join();
}

namespace {

struct throws_when_moved {
    int* left; // moves until one throws
    explicit throws_when_moved(int& moves) : left(&moves) {}
    throws_when_moved(throws_when_moved&& other) : left(other.left) {
        if (--*left == 0) throw std::runtime_error("move");
    }
};

} // namespace

TEST_CASE("an exception from moving an item reaches the caller and leaves the buffer as it was") {
    bounded_buffer<throws_when_moved> buffer(2);
    int moves = 1;
    CHECK_THROWS_AS((void)buffer.try_push(throws_when_moved(moves)), std::runtime_error);
    CHECK(buffer.size() == 0);
    moves = 2;
    CHECK(buffer.try_push(throws_when_moved(moves)) == queue_status::done);
    CHECK_THROWS_AS((void)buffer.try_pop(), std::runtime_error);
    CHECK(buffer.size() == 1);
    moves = 100;
    CHECK(buffer.try_pop().status() == queue_status::done);
}

TEST_CASE("a buffer without room is refused") {
    CHECK_THROWS_WITH(bounded_buffer<int>(0), "bounded_buffer: capacity is 0, allowed is 1 or more");
}

TEST_CASE("an optional takes the item of a buffer of bool, not whether there is one") {
    bounded_buffer<bool> buffer(2);
    (void)buffer.push(false);
    std::optional<bool> item(buffer.pop());
    REQUIRE(item.has_value());
    CHECK_FALSE(*item);
    static_assert(!std::is_constructible_v<bool, ekiden::popped<bool>>);
    static_assert(std::is_constructible_v<bool, ekiden::popped<int>>);
}

TEST_CASE("a stop token converts to a limit") {
    std::stop_source stop;
    stop.request_stop();
    const ekiden::wait_limit limit = stop.get_token();
    CHECK(limit.is_reached());
    CHECK_FALSE(limit.is_timed());
}
