// Functions with several keys in lanes with capacities, close() and wait_idle() of one of the keys,
// dispatch() inside of their lanes, and metrics.
#include "../asleep.hpp"
#include "../effort.hpp"
#include "../execution/held_worker.hpp"
#include "tally.hpp"

#include <ekiden/lanes/lanes.hpp>
#include <ekiden/loop/loop_context.hpp>
#include <ekiden/pool/thread_pool.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <doctest/doctest.h>
#include <initializer_list>
#include <latch>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace {

using namespace ekiden;
using ekiden_test::held_worker;
using ekiden_test::tally;
using request_lanes = lanes<int, thread_pool::executor_type>;

/// Posts a request that keeps its keys until the test calls release().
class held_keys {
public:
    held_keys(const request_lanes& l, std::initializer_list<int> keys) {
        CHECK(l.post(keys, [this] {
            has_begun_.count_down();
            release_.wait();
        }));
        has_begun_.wait();
    }
    void release() { release_.count_down(); }

private:
    std::latch has_begun_{1};
    std::latch release_{1};
};

/// Returns whether `wait` throws resource_deadlock_would_occur.
template <class Wait>
bool would_deadlock(Wait&& wait) {
    try {
        wait();
    } catch (const std::system_error& e) {
        return e.code() == std::errc::resource_deadlock_would_occur;
    }
    return false;
}

/// Checks that all accepted functions were run or dropped, and that nothing is left.
void check_accounts(const request_lanes& l, const tally& all) {
    const auto now = l.metrics();
    CHECK(now.posted == now.run + now.dropped);
    CHECK(now.active == 0);
    CHECK(now.run == static_cast<std::uint64_t>(all.ran.load()));
    CHECK(all.is_settled());
}

} // namespace

// ---- capacities

TEST_CASE("A request without room in one of its lanes is rejected, and is in none") {
    tally all;
    thread_pool pool(1);
    const request_lanes l(pool.get_executor(), {.lane_capacity = 2, .shards = 4});
    held_worker worker(pool);
    std::string order;
    const auto adds = [&](char c) { return all.function([&order, c] { order += c; }); };
    CHECK(l.post({1, 2}, adds('a'))); // has the lanes, so it does not wait in them
    CHECK(l.depth(1) == 0);
    CHECK(l.post({1, 2}, adds('b')));
    CHECK(l.post(1, adds('c')));
    CHECK(l.depth(1) == 2);
    CHECK_FALSE(l.post({1, 2}, adds('d')));
    CHECK_FALSE(l.post({2, 1, 3}, adds('e')));
    CHECK_FALSE(l.post(l.keys().read(3, 1), adds('f')));
    CHECK(l.depth(2) == 1);
    CHECK(l.active() == 2);
    CHECK(all.gone.load() == 3);
    CHECK(l.post(2, adds('g')));
    CHECK(l.post(3, adds('h')));
    worker.open();
    pool.wait_idle();
    std::erase(order, 'h'); // on a key of its own
    CHECK((order == "abcg" || order == "abgc"));
    CHECK(l.metrics().rejected == 3);
    CHECK(l.metrics().posted == 5);
    check_accounts(l, all);
}

TEST_CASE("A request without room drops itself, or the oldest function of each full lane, once each") {
    for (const when_full policy : {when_full::drop_newest, when_full::drop_oldest}) {
        tally all;
        thread_pool pool(1);
        const request_lanes l(pool.get_executor(), {.lane_capacity = 2, .policy = policy, .shards = 4});
        held_worker worker(pool);
        std::string order;
        const auto adds = [&](char c) { return all.function([&order, c] { order += c; }); };
        CHECK(l.post({1, 2}, adds('a')));
        CHECK(l.post({1, 2}, adds('b'))); // the oldest function that waits in both lanes
        CHECK(l.post(1, adds('c')));
        CHECK(l.post({1, 2}, adds('d')));
        CHECK(l.post({1, 2, 3}, adds('e')));
        CHECK(l.depth(1) == 2);
        CHECK(l.depth(2) == (policy == when_full::drop_oldest ? 2 : 1));
        worker.open();
        pool.wait_idle();
        // d drops b from lane 1; it stays in lane 2 without a function. e drops c, and that rest of b.
        CHECK(order == (policy == when_full::drop_oldest ? "ade" : "abc"));
        CHECK(l.metrics().dropped == 2);
        CHECK(l.metrics().posted == (policy == when_full::drop_oldest ? 5 : 3));
        CHECK(all.is_settled());
        CHECK(l.active() == 0);
    }
}

TEST_CASE("Readers that share a lane do not wait, so they need no room") {
    tally all;
    thread_pool pool(1);
    const request_lanes l(pool.get_executor(), {.lane_capacity = 1});
    held_worker worker(pool);
    for (int i = 0; i != 5; ++i) CHECK(l.post(l.keys().read(1), all.function()));
    CHECK(l.depth(1) == 0);
    CHECK(l.post({1, 2}, all.function()));
    CHECK(l.depth(1) == 1);
    CHECK_FALSE(l.post(l.keys().read(1), all.function())); // it would wait behind the writer
    worker.open();
    pool.wait_idle();
    CHECK(all.ran.load() == 6);
    check_accounts(l, all);
}

TEST_CASE("A request counts once for each key in the capacity of all lanes, until it has the lane") {
    tally all;
    thread_pool pool(1);
    const request_lanes l(pool.get_executor(), {.capacity = 4, .shards = 4});
    held_worker worker(pool);
    CHECK(l.post({1, 2}, all.function()));
    CHECK(l.post({1, 2}, all.function()));
    CHECK(l.post({1, 2}, all.function()));
    CHECK_FALSE(l.post({1, 2}, all.function()));
    CHECK_FALSE(l.post(3, all.function()));
    CHECK(l.active() == 2);
    worker.open();
    pool.wait_idle();
    CHECK(l.post({1, 2, 3, 4}, all.function())); // room again
    CHECK_FALSE(l.post({1, 2, 3, 4, 5}, all.function()));
    pool.wait_idle();
    CHECK(l.metrics().rejected == 3);
    check_accounts(l, all);
}

TEST_CASE("A request waits until there is room in all its lanes, and then its post returns") {
    loop_context loop(1);
    const lanes<int, loop_context::executor_type> l(
        loop.get_executor(), {.lane_capacity = 1, .policy = when_full::block, .shards = 4});
    std::string order;
    for (const int key : {1, 2}) CHECK(l.post(key, [&] { order += 'a'; }));
    bool has_returned = false;
    std::thread poster = ekiden_test::start_asleep([&] {
        CHECK(l.post({1, 2, 3}, [&] { order += 'b'; }));
        has_returned = true;
    });
    CHECK(l.depth(1) == 2);
    CHECK(l.depth(2) == 2);
    CHECK(l.depth(3) == 0);
    CHECK(loop.run_one() == 1);
    loop.run();
    poster.join();
    CHECK(has_returned);
    CHECK(order == "aab");
    CHECK(l.active() == 0);
}

TEST_CASE("Requests that wait for room all get it, and the order of each poster is kept") {
    for (const bool in_all : {false, true}) {
        tally all;
        thread_pool pool(2);
        const request_lanes l(pool.get_executor(), {.lane_capacity = in_all ? 0U : 2U,
                                                    .capacity = in_all ? 3U : 0U,
                                                    .policy = when_full::block,
                                                    .shards = 2});
        std::array<std::array<int, 3>, 4> last{};
        std::atomic<int> wrong{0};
        std::vector<std::thread> posters;
        for (std::size_t p = 0; p != 3; ++p) {
            posters.emplace_back([&, p] {
                for (int i = 1; i <= ekiden_test::rounds(10'000); ++i) {
                    const auto a = i % 4;
                    const auto b = i / 4 % 4;
                    if (!l.post({a, b}, all.function([&, p, i, a, b] {
                            for (const int key : {a, b}) {
                                int& here = last[static_cast<std::size_t>(key)][p];
                                if (here > i) wrong.fetch_add(1);
                                here = i;
                            }
                        })))
                        wrong.fetch_add(1);
                }
            });
        }
        for (std::thread& t : posters) t.join();
        pool.wait_idle();
        CHECK(wrong.load() == 0);
        CHECK(all.ran.load() == all.made.load());
        check_accounts(l, all);
    }
}

TEST_CASE("A request that a function of the lanes posts never waits for room") {
    tally all;
    thread_pool pool(1);
    const request_lanes l(pool.get_executor(), {.lane_capacity = 1, .policy = when_full::block});
    CHECK(l.post(l.keys().read(1).write(2), all.function([&] {
        for (int i = 0; i != 10; ++i) CHECK(l.post({1, 2}, all.function()));
    })));
    pool.wait_idle();
    CHECK(all.ran.load() == 11);
    CHECK(l.metrics().beyond == 18); // two for each request but the first
    check_accounts(l, all);
}

// ---- close

TEST_CASE("close of a key abandons a request that waits there, at once, and its other keys go on") {
    for (const std::size_t capacity : {0, 10}) {
        tally all;
        std::string order;
        thread_pool pool(2);
        const request_lanes l(pool.get_executor(), {.lane_capacity = capacity});
        held_keys held(l, {1, 9});
        CHECK(l.post({1, 2}, all.function()));
        CHECK(l.post(2, [&] { order += 'a'; })); // behind it
        CHECK(l.depth(1) == 1);
        CHECK(l.depth(2) == 1);
        CHECK(l.close(1) == 1);
        CHECK(all.is_settled());
        l.wait_idle(2); // although the first key is still in use
        CHECK(order == "a");
        held.release();
        l.wait_idle(1);
        CHECK(l.post({1, 2}, all.function())); // as new
        l.wait_idle(2);
        CHECK(all.ran.load() == 1);
        CHECK(all.is_settled());
        CHECK(l.metrics().dropped == 1);
        CHECK(l.active() == 0);
    }
}

TEST_CASE("close of a key abandons a request that has this key and waits for another one") {
    for (const std::size_t capacity : {0, 10}) {
        tally all;
        thread_pool pool(2);
        const request_lanes l(pool.get_executor(), {.lane_capacity = capacity});
        held_keys held(l, {1});
        CHECK(l.post({1, 2}, all.function()));
        CHECK(l.post({1, 3}, all.function()));
        CHECK(l.depth(2) == 0);
        CHECK(l.close(2) == 0); // none waits there
        CHECK(l.active() == 3);
        held.release();
        l.wait_idle(2);
        l.wait_idle(3);
        CHECK(all.ran.load() == 1);
        CHECK(l.post(2, all.function())); // as new
        l.wait_idle(2);
        CHECK(all.ran.load() == 2);
        CHECK(all.is_settled());
        CHECK(l.metrics().dropped == 1);
        CHECK(l.active() == 0);
    }
}

TEST_CASE("close of a key lets a running request end, and abandons those behind it") {
    for (const std::size_t capacity : {0, 10}) {
        tally all;
        thread_pool pool(2);
        const request_lanes l(pool.get_executor(), {.lane_capacity = capacity});
        held_keys held(l, {1, 2});
        CHECK(l.post({2, 1}, all.function()));
        CHECK(l.post(l.keys().read(1), all.function()));
        CHECK(l.post(2, all.function()));
        CHECK(l.close(1) == 2);
        CHECK(all.gone.load() == 2);
        CHECK(l.depth(2) == 2); // the first one keeps its place
        CHECK(l.close(2) == 1); // it was counted before
        CHECK(all.gone.load() == 3);
        held.release();
        l.wait_idle(1);
        l.wait_idle(2);
        CHECK(all.ran.load() == 0);
        CHECK(l.metrics().dropped == 3);
        CHECK(l.metrics().run == 1);
        CHECK(l.active() == 0);
    }
}

TEST_CASE("close of a key inside of a reader abandons the reader's neighbors that have not begun") {
    tally all;
    thread_pool pool(1);
    const request_lanes l(pool.get_executor());
    held_worker worker(pool);
    CHECK(l.post(l.keys().read(1, 2), all.function([&] { (void)l.close(1); })));
    for (int i = 0; i != 3; ++i) CHECK(l.post(l.keys().read(1, 2), all.function()));
    CHECK(l.post(l.keys().read(2), all.function()));
    worker.open();
    pool.wait_idle();
    CHECK(all.ran.load() == 2);
    CHECK(l.metrics().dropped == 3);
    check_accounts(l, all);
}

TEST_CASE("close of a key inside of a request abandons what the request posts to this key afterwards") {
    tally all;
    thread_pool pool(1);
    const request_lanes l(pool.get_executor());
    CHECK(l.post({1, 2}, [&] {
        (void)l.close(1);
        CHECK(l.post(1, all.function()));
        CHECK(l.post({1, 3}, all.function()));
        CHECK(l.post(2, all.function()));
    }));
    pool.wait_idle();
    CHECK(all.ran.load() == 1);
    CHECK(all.is_settled());
    CHECK(l.metrics().dropped == 2);
    CHECK(l.active() == 0);
}

TEST_CASE("A request with a closed key is refused, and does not wait for room in its other lanes") {
    tally all;
    thread_pool pool(3);
    const request_lanes l(pool.get_executor(), {.lane_capacity = 1, .policy = when_full::block, .shards = 1});
    held_keys full(l, {1});
    CHECK(l.post(1, all.function()));
    held_keys closed(l, {2});
    CHECK(l.close(2) == 0);
    for (int i = 0; i != 3; ++i) {
        CHECK_FALSE(l.post({1, 2}, all.function()));
        CHECK_FALSE(l.post({2, 1}, all.function()));
    }
    CHECK(l.depth(1) == 1);
    std::thread poster = ekiden_test::start_asleep([&] { CHECK(l.post({1, 3}, all.function())); });
    full.release();
    poster.join();
    closed.release();
    pool.wait_idle();
    CHECK(all.ran.load() == 2);
    CHECK(all.is_settled());
    CHECK(l.metrics().rejected == 6);
    CHECK(l.active() == 0);
}

TEST_CASE("close ends the posts that wait for room with a request") {
    tally all;
    thread_pool pool(1);
    const request_lanes l(pool.get_executor(), {.lane_capacity = 1, .policy = when_full::block});
    held_worker worker(pool);
    CHECK(l.post({1, 2}, all.function()));
    CHECK(l.post({1, 2}, all.function()));
    std::thread poster = ekiden_test::start_asleep([&] { CHECK(l.post({1, 2}, all.function())); });
    CHECK(l.close(1) == 2);
    CHECK(l.close(2) == 0);
    poster.join();
    CHECK(all.gone.load() == 2);
    worker.open();
    l.wait_idle(1);
    l.wait_idle(2);
    CHECK(all.is_settled());
    CHECK(l.metrics().run + l.metrics().dropped == 3);
    CHECK(l.active() == 0);
}

// ---- waits

TEST_CASE("wait_idle of a key waits for its requests, and the metrics contain them then") {
    thread_pool pool(2);
    const request_lanes l(pool.get_executor(), {.shards = 4});
    int ran = 0;
    for (int i = 1; i <= ekiden_test::rounds(5000); ++i) {
        CHECK(l.post({1, 2, 3}, [&ran] { ++ran; }));
        l.wait_idle(1 + i % 3);
        CHECK(ran == i);
        CHECK(l.metrics().run == static_cast<std::uint64_t>(i));
    }
    const auto readers = [&] {
        for (int i = 0; i != 100; ++i) CHECK(l.post(l.keys().read(1, 2), [] {}));
        l.wait_idle(2);
        CHECK(l.depth(2) == 0);
    };
    readers();
    pool.submit(readers).get(); // a worker runs them meanwhile
    pool.wait_idle();
    CHECK(l.active() == 0);
}

TEST_CASE("wait_idle throws inside of a request, for keys that it writes or reads") {
    thread_pool pool(2);
    const request_lanes l(pool.get_executor());
    std::array<bool, 4> threw{};
    CHECK(l.post(l.keys().write(1).read(2), [&] {
        threw[0] = would_deadlock([&] { l.wait_idle(1); });
        threw[1] = would_deadlock([&] { l.wait_idle(2); });
        threw[2] = would_deadlock([&] { (void)l.wait_idle_for(2, std::chrono::hours(1)); });
        threw[3] = would_deadlock([&] { l.wait_idle(3); });
    }));
    pool.wait_idle();
    CHECK(threw == std::array<bool, 4>{true, true, true, false});
}

// ---- dispatch

TEST_CASE(
    "running_in_this_thread tells of all keys of a request, and the executor of a key only of writers") {
    thread_pool pool(1);
    const request_lanes l(pool.get_executor());
    std::vector<bool> found;
    CHECK_FALSE(l.running_in_this_thread(1));
    CHECK(l.post(l.keys().write(1, 2).read(3), [&] {
        for (int key = 1; key != 5; ++key) found.push_back(l.running_in_this_thread(key));
        for (int key = 1; key != 5; ++key) found.push_back(l.get_executor(key).running_in_this_thread());
    }));
    pool.wait_idle();
    CHECK(found == std::vector<bool>{true, true, true, false, true, true, false, false});
}

TEST_CASE("dispatch runs at once inside of all its keys, elsewhere it posts") {
    thread_pool pool(1);
    const request_lanes l(pool.get_executor());
    std::string order;
    const auto adds = [&](char c) { return [&order, c] { order += c; }; };
    CHECK(l.post(l.keys().write(1, 2).read(3), [&] {
        l.dispatch({1, 2}, adds('a'));
        l.dispatch(l.keys().read(3, 1).write(2), adds('b'));
        l.dispatch(2, adds('c'));
        l.get_executor(1).dispatch(adds('d'));
        l.dispatch({1, 4}, adds('x')); // not inside of 4
        l.dispatch({1, 3}, adds('y')); // inside of 3 as a reader only
        order += 'e';
    }));
    pool.wait_idle();
    CHECK(order.substr(0, 5) == "abcde");
    CHECK(order.size() == 7);
    pool.submit([&] { // outside, although on a thread of the pool
            l.dispatch({1, 2}, adds('g'));
            order += 'f';
        })
        .get();
    l.dispatch({1, 2}, adds('h'));
    pool.wait_idle();
    CHECK(order.substr(7) == "fgh");
    CHECK(l.active() == 0);
}

TEST_CASE("dispatch to a key does not overtake a request that the thread has posted before") {
    for (const std::size_t capacity : {0, 10}) {
        thread_pool pool(2);
        const request_lanes l(pool.get_executor(), {.lane_capacity = capacity, .shards = 4});
        for (int i = 0; i != 100; ++i) {
            std::string order;
            pool.submit([&] {
                    CHECK(l.post({i, i + 1}, [&] { order += 'a'; }));
                    l.dispatch(i + 1, [&] { order += 'b'; });
                })
                .get();
            l.wait_idle(i + 1);
            CHECK(order == "ab");
        }
    }
}

TEST_CASE("An exception of a request that dispatch calls at once leaves dispatch") {
    thread_pool pool(1);
    const request_lanes l(pool.get_executor());
    bool has_thrown = false;
    CHECK(l.post({1, 2}, [&] {
        try {
            l.dispatch(l.keys().read(2), [] { throw std::runtime_error("at once"); });
        } catch (const std::runtime_error&) {
            has_thrown = true;
        }
    }));
    pool.wait_idle();
    CHECK(has_thrown);
    CHECK(l.active() == 0);
}

TEST_CASE("dispatch to the key of a reader posts, because other readers may run") {
    thread_pool pool(2);
    const request_lanes l(pool.get_executor());
    std::string order;
    CHECK(l.post(l.keys().read(1), [&] {
        l.dispatch(1, [&] { order += 'b'; });
        l.get_executor(1).dispatch([&] { order += 'c'; });
        order += 'a';
    }));
    l.wait_idle(1);
    CHECK(order == "abc");
}

// ---- numbers

TEST_CASE(
    "depth counts the requests that wait in a lane, active the lanes, and the metrics each request once") {
    tally all;
    thread_pool pool(2);
    const request_lanes l(pool.get_executor(), {.shards = 4});
    held_keys held(l, {1, 9});
    for (int i = 0; i != 3; ++i) CHECK(l.post({1, 2, 3}, all.function()));
    CHECK(l.post(2, all.function()));
    CHECK(l.depth(1) == 3);
    CHECK(l.depth(2) == 3); // the first one has the lane already
    CHECK(l.depth(3) == 2);
    CHECK(l.depth(4) == 0);
    CHECK(l.active() == 4);
    CHECK(l.metrics().active == 4);
    CHECK(l.metrics().posted == 5);
    CHECK(l.metrics().run == 0);
    held.release();
    pool.wait_idle();
    CHECK(l.metrics().run == 5);
    CHECK(l.metrics().dropped == 0);
    CHECK(l.active() == 0);
    CHECK(all.is_settled());
}

TEST_CASE("The delay of a request is that of one of its keys") {
    thread_pool pool(1);
    const request_lanes l(pool.get_executor(), {.delay_sampling = 1});
    held_worker worker(pool);
    CHECK(l.post({1, 2}, [] {}));
    worker.open();
    pool.wait_idle();
    const auto now = l.metrics();
    REQUIRE(now.delays.size() == 1);
    CHECK((now.delays[0].key == 1 || now.delays[0].key == 2));
    CHECK(now.delays[0].ns > 0);
}
