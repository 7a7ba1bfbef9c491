// Channels between coroutines, and between coroutines and threads.
#include "lock_support.hpp"

#include <ekiden/async/async_channel.hpp>
#include <ekiden/async/co_spawn.hpp>
#include <ekiden/async/select.hpp>
#include <ekiden/async/with_deadline.hpp>
#include <ekiden/execution/post.hpp>
#include <ekiden/loop/loop_context.hpp>

#include "../effort.hpp"

#include <doctest/doctest.h>

#include <array>
#include <chrono>
#include <deque>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <thread>
#include <variant>
#include <vector>

using namespace ekiden;
using namespace std::chrono_literals;
using ekiden_test::until;
using lock_support::spawner;

namespace {

constexpr std::size_t no_bound = channel<int>::unbounded;

/// Checks the order of the items of four producers.
class order_check {
public:
    static constexpr int producers = 4;

    [[nodiscard]] bool is_in_order(long item) {
        long& before = last_[static_cast<std::size_t>(item % producers)];
        return std::exchange(before, item) < item;
    }

private:
    std::array<long, producers> last_{-1, -1, -1, -1};
};

/// Passes items through a channel, between coroutines and threads.
class traffic {
public:
    traffic(std::size_t capacity, int items) : ch_(capacity), items_(items) {}

    coroutine<> produce(int number) {
        for (int k = 0; k < items_; ++k) {
            const queue_status r = co_await async_push(ch_, item(k, number));
            if (r != queue_status::done) is_wrong_ = true;
        }
        leave();
    }
    coroutine<> consume() {
        order_check order;
        for (;;) {
            const std::optional<long> item = co_await async_pop(ch_);
            if (!item) break;
            take(order, *item);
        }
    }
    void produce_in_thread(int number) {
        for (int k = 0; k < items_; ++k) (void)ch_.push(item(k, number));
        leave();
    }
    void consume_in_thread() {
        order_check order;
        while (const std::optional<long> item = ch_.pop()) take(order, *item);
    }
    void check() const {
        const long n = long{items_} * order_check::producers;
        CHECK_FALSE(is_wrong_);
        CHECK(sum_ == n * (n - 1) / 2);
        CHECK(ch_.size() == 0);
    }

private:
    static long item(int k, int number) { return long{k} * order_check::producers + number; }
    void take(order_check& order, long item) {
        if (!order.is_in_order(item)) is_wrong_ = true;
        sum_ += item;
    }
    void leave() {
        if (--producing_ == 0) ch_.close();
    }

    channel<long> ch_;
    int items_;
    std::atomic<long> sum_{0};
    std::atomic<bool> is_wrong_{false};
    std::atomic<int> producing_{order_check::producers};
};

} // namespace

TEST_CASE("a channel passes every item once, in each producer's order, between coroutines and threads") {
    for (const std::size_t capacity : {std::size_t{0}, std::size_t{1}, std::size_t{64}, no_bound}) {
        CAPTURE(capacity);
        traffic all(capacity, ekiden_test::rounds(3000));
        thread_pool pool(2);
        {
            spawner coroutines(pool.get_executor());
            for (int i = 0; i < 3; ++i) {
                coroutines.spawn([&, i] { return all.produce(i); });
                coroutines.spawn([&] { return all.consume(); });
            }
            std::thread producer([&] { all.produce_in_thread(3); });
            all.consume_in_thread();
            producer.join();
        }
        all.check();
    }
}

TEST_CASE("a channel works on one thread, where no coroutine may block") {
    for (const std::size_t capacity : {std::size_t{0}, std::size_t{1}, std::size_t{64}, no_bound}) {
        CAPTURE(capacity);
        traffic all(capacity, ekiden_test::rounds(3000));
        loop_context loop(1);
        {
            spawner coroutines(loop.get_executor());
            for (int i = 0; i < 4; ++i) {
                coroutines.spawn([&, i] { return all.produce(i); });
                coroutines.spawn([&] { return all.consume(); });
            }
            loop.run();
        }
        all.check();
    }
}

TEST_CASE("close ends every coroutine that waits at a channel, and accepted items stay") {
    const int rounds = ekiden_test::rounds(300);
    thread_pool pool(2);
    for (int r = 0; r < rounds; ++r) {
        channel<int> full(2);
        channel<int> empty(r % 3 == 0 ? no_bound : 2);
        channel<int> meeting(0);
        (void)full.push(1);
        (void)full.push(2);
        std::atomic<int> refused{0};
        std::atomic<int> ended{0};
        std::atomic<int> asked{0};
        {
            spawner coroutines(pool.get_executor());
            for (int i = 0; i < 5; ++i) {
                coroutines.spawn([&]() -> coroutine<> {
                    ++asked;
                    const queue_status result = co_await async_push(full, 3);
                    refused += result == queue_status::closed ? 1 : 0;
                });
                coroutines.spawn([&, i]() -> coroutine<> {
                    ++asked;
                    auto& from = i % 2 == 0 ? empty : meeting;
                    const auto item = co_await async_pop(from);
                    ended += item.status() == queue_status::closed ? 1 : 0;
                });
            }
            if (r % 2 == 0) until([&] { return asked == 10; });
            full.close();
            empty.close();
            meeting.close();
        }
        REQUIRE(refused == 5);
        REQUIRE(ended == 5);
        REQUIRE(full.pop() == 1);
        REQUIRE(full.pop() == 2);
        REQUIRE_FALSE(full.pop());
    }
}

TEST_CASE("with random stops, every accepted item arrives once, and a refused item is unchanged") {
    const int rounds = ekiden_test::rounds(400);
    thread_pool pool(2);
    for (int r = 0; r < rounds; ++r) {
        constexpr int items = 20;
        channel<std::unique_ptr<int>> ch(static_cast<std::size_t>(r % 3));
        std::deque<stop_state> stops;
        std::atomic<int> arrived{0};
        std::atomic<int> accepted{0};
        std::atomic<bool> is_wrong{false};
        {
            spawner coroutines(pool.get_executor());
            for (int i = 0; i < 6; ++i) {
                stop_state* const stop = &stops.emplace_back();
                coroutines.spawn(pool.get_executor(), stop, [&]() -> coroutine<> {
                    for (;;) {
                        const auto item = co_await async_pop(ch);
                        if (!item) break;
                        if (**item != 1) is_wrong = true;
                        ++arrived;
                    }
                });
                coroutines.spawn(pool.get_executor(), stop, [&]() -> coroutine<> {
                    for (int k = 0; k < items; ++k) {
                        auto item = std::make_unique<int>(1);
                        const queue_status result = co_await async_push(ch, std::move(item));
                        if ((result == queue_status::done) != (item == nullptr)) is_wrong = true;
                        if (result != queue_status::done) break;
                        ++accepted;
                    }
                });
            }
            for (stop_state& stop : stops) stop.request_stop();
        }
        int left = 0;
        while (ch.try_pop()) ++left;
        REQUIRE(accepted == arrived + left);
        REQUIRE_FALSE(is_wrong);
    }
}

TEST_CASE("a limit ends a wait at a channel, and the next operation finds no trace") {
    thread_pool pool(1);
    for (const std::size_t capacity : {0U, 1U}) {
        CAPTURE(capacity);
        channel<int> ch(capacity);
        spawner coroutines(pool.get_executor());
        std::vector<queue_status> results;
        coroutines.spawn([&]() -> coroutine<> {
            const auto nothing = co_await async_pop_for(ch, 1ms);
            results.push_back(nothing.status());
            if (capacity == 1) (void)ch.try_push(1);
            const queue_status full = co_await async_push_for(ch, 2, 1ms);
            results.push_back(full);
            std::stop_source stop;
            stop.request_stop();
            const queue_status stopped = co_await async_push(ch, 2, stop.get_token());
            results.push_back(stopped);
            if (capacity == 1) (void)ch.try_pop();
            const auto none = co_await async_pop(ch, stop.get_token());
            results.push_back(none.status());
        });
        coroutines.join();
        CHECK(results
              == std::vector{queue_status::timed_out, queue_status::timed_out, queue_status::stopped,
                             queue_status::stopped});
        CHECK(ch.try_pop().status() == queue_status::would_wait);
    }
}

TEST_CASE("a timeout that races with a rendezvous never loses or duplicates an item") {
    const int rounds = ekiden_test::rounds(2000);
    thread_pool pool(2);
    channel<int> ch(0);
    std::atomic<long> pushed{0};
    std::atomic<long> popped_sum{0};
    {
        spawner coroutines(pool.get_executor());
        for (int i = 0; i < 2; ++i) {
            coroutines.spawn([&]() -> coroutine<> {
                for (int k = 1; k <= rounds; ++k) {
                    const queue_status r = co_await async_push_for(ch, int{k}, 20us);
                    if (r == queue_status::done) pushed += k;
                }
            });
            coroutines.spawn([&]() -> coroutine<> {
                for (int k = 0; k < rounds; ++k) {
                    const std::optional<int> item = co_await async_pop_for(ch, 20us);
                    popped_sum += item.value_or(0);
                }
            });
        }
    }
    CHECK(pushed == popped_sum);
}

TEST_CASE("select loses no item, for every kind of channel and beside a bounded_buffer") {
    constexpr int selecting = 4;
    const int items = ekiden_test::rounds(3000);
    thread_pool pool(2);
    channel<int> meeting(0);
    channel<int> small(2);
    channel<int> large;
    bounded_buffer<int> buffer(1);
    std::atomic<long> sum{0};
    std::atomic<int> count{0};
    const auto take = [&](int item) {
        sum += item;
        ++count;
    };
    {
        spawner coroutines(pool.get_executor());
        for (int i = 0; i < selecting; ++i) {
            coroutines.spawn([&, i]() -> coroutine<> {
                for (;;) {
                    auto got = popped<std::variant<int, int, int, int>>(queue_status::closed);
                    if (i % 2 == 0)
                        got = co_await select(meeting, small, large, buffer);
                    else
                        got = co_await select(buffer, large, small, meeting);
                    if (!got) break;
                    std::visit(take, *got);
                }
            });
        }
        coroutines.spawn([&]() -> coroutine<> {
            for (;;) {
                const std::optional<int> item = co_await async_pop(small);
                if (!item) break;
                take(*item);
            }
        });
        std::array<std::thread, 2> producers{std::thread([&] {
                                                 for (int k = 0; k < items; ++k) (void)meeting.push(k);
                                                 meeting.close();
                                             }),
                                             std::thread([&] {
                                                 for (int k = 0; k < items; ++k) (void)large.push(k);
                                                 large.close();
                                             })};
        coroutines.spawn([&]() -> coroutine<> {
            for (int k = 0; k < items; ++k) {
                (void)co_await async_push(small, int{k});
                (void)co_await async_push(buffer, int{k});
            }
            small.close();
            buffer.close();
        });
        for (std::thread& one : producers) one.join();
    }
    CHECK(count == 4 * items);
    CHECK(sum == 4L * items * (items - 1) / 2);
}

TEST_CASE("a stopped select leaves no trace in its channels and loses no item") {
    const int rounds = ekiden_test::rounds(1500);
    thread_pool pool(2);
    for (int r = 0; r < rounds; ++r) {
        channel<int> a(2);
        channel<int> b;
        channel<int> meeting(0);
        stop_state stop;
        std::atomic<int> taken{0};
        std::atomic<int> stopped{0};
        int met = 0;
        {
            spawner coroutines(pool.get_executor(), &stop);
            for (int i = 0; i < 3; ++i) {
                coroutines.spawn([&]() -> coroutine<> {
                    const auto got = co_await select(a, meeting, b);
                    ++(got ? taken : stopped);
                });
            }
            std::thread stopper([&] { stop.request_stop(); });
            (void)a.push(1);
            (void)b.push(2);
            met = meeting.try_push(3) == queue_status::done ? 1 : 0;
            stopper.join();
        }
        int left = 0;
        while (a.try_pop()) ++left;
        while (b.try_pop()) ++left;
        REQUIRE(taken + left == 2 + met);
        REQUIRE(taken + stopped == 3);
        REQUIRE(meeting.try_push(3) == queue_status::would_wait);
    }
}

TEST_CASE("select passes over closed channels, until all are closed and empty") {
    thread_pool pool(1);
    channel<int> a;
    channel<std::string> b(0);
    std::vector<std::string> got;
    std::atomic<int> count{0};
    spawner coroutines(pool.get_executor());
    coroutines.spawn([&]() -> coroutine<> {
        for (;;) {
            const auto one = co_await select(a, b);
            if (!one) {
                got.push_back(one.status() == queue_status::closed ? "closed" : "?");
                break;
            }
            got.push_back(one->index() == 0 ? std::to_string(std::get<0>(*one)) : std::get<1>(*one));
            ++count;
        }
    });
    (void)a.push(1);
    until([&] { return count == 1; });
    a.close();
    CHECK(b.push("two") == queue_status::done);
    b.close();
    coroutines.join();
    CHECK(got == std::vector<std::string>{"1", "two", "closed"});
}

TEST_CASE("a coroutine that finds an item in a channel does not suspend") {
    thread_pool pool(1);
    channel<int> ch;
    int order = 0;
    int seen = 0;
    spawner coroutines(pool.get_executor());
    coroutines.spawn([&]() -> coroutine<> {
        ekiden::post(pool.get_executor(), [&] { seen = order; }); // runs when the coroutine suspends or ends
        for (int i = 0; i < 10; ++i) {
            (void)co_await async_push(ch, int{i});
            const std::optional<int> item = co_await async_pop(ch);
            order += item == i ? 1 : 0;
        }
    });
    coroutines.join();
    pool.wait_idle();
    CHECK(seen == 10);
}

TEST_CASE("a long chain of waiting coroutines is served without a deep stack") {
    const int n = ekiden_test::rounds(100'000);
    thread_pool pool(1);
    channel<int> ch(0);
    std::atomic<int> done{0};
    spawner coroutines(pool.get_executor());
    for (int i = 0; i < n; ++i) {
        coroutines.spawn([&]() -> coroutine<> {
            const std::optional<int> item = co_await async_pop(ch);
            done += item ? 1 : 0;
        });
    }
    coroutines.spawn([&]() -> coroutine<> {
        for (int i = 0; i < n; ++i) (void)co_await async_push(ch, int{i});
    });
    coroutines.join();
    CHECK(done == n);
}

TEST_CASE("coroutines that wait at a channel end with their context, and leave the channel usable") {
    const int n = ekiden_test::rounds(1000);
    channel<int> empty;
    channel<std::unique_ptr<int>> full(1);
    channel<int> meeting(0);
    (void)full.push(std::make_unique<int>(0));
    std::atomic<int> ended{0};
    {
        thread_pool gone(2);
        std::atomic<int> asked{0};
        for (int i = 0; i < n; ++i) {
            auto body = [&, i]() -> coroutine<> {
                ++asked;
                if (i % 4 == 0)
                    (void)co_await async_pop(empty);
                else if (i % 4 == 1)
                    (void)co_await async_push(full, std::make_unique<int>(1));
                else if (i % 4 == 2)
                    (void)co_await async_pop(meeting);
                else
                    (void)co_await select(empty, meeting);
                FAIL("nothing has come");
            };
            auto& promise = lock_support::root(std::move(body), ended).promise();
            promise.begin(gone.get_executor());
        }
        until([&] { return asked == n; });
        gone.stop();
    }
    CHECK(ended == n);
    CHECK(meeting.try_push(1) == queue_status::would_wait);
    CHECK(empty.try_push(1) == queue_status::done);
    CHECK(empty.try_pop() == 1);
    CHECK(**full.try_pop() == 0);
    CHECK(full.try_pop().status() == queue_status::would_wait);
}

TEST_CASE("batches of a channel pass items in order between coroutines") {
    thread_pool pool(2);
    const int items = ekiden_test::rounds(5000);
    channel<int> ch(100);
    std::vector<int> sent(static_cast<std::size_t>(items));
    std::iota(sent.begin(), sent.end(), 0);
    std::vector<int> got;
    pushed_range result;
    spawner coroutines(pool.get_executor());
    coroutines.spawn([&]() -> coroutine<> {
        result = co_await async_push_range(ch, std::span(sent));
        ch.close();
    });
    coroutines.spawn([&]() -> coroutine<> {
        for (;;) {
            const queue_status s = co_await async_pop_up_to(ch, got, 16);
            if (s != queue_status::done) break;
        }
    });
    coroutines.join();
    CHECK(result.count == sent.size());
    CHECK(result.status == queue_status::done);
    CHECK(got == sent);
}
