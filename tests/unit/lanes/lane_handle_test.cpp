// Handles of lanes: each form that accepts a key accepts a handle, and means the same lane.
#include "../execution/held_worker.hpp"
#include "tally.hpp"

#include <ekiden/lanes/lanes.hpp>
#include <ekiden/pool/thread_pool.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <doctest/doctest.h>
#include <latch>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

namespace {

using namespace ekiden;
using namespace std::chrono_literals;
using ekiden_test::held_worker;
using ekiden_test::tally;
using int_lanes = lanes<int, thread_pool::executor_type>;
using handle = int_lanes::lane_type;

static_assert(std::is_nothrow_copy_constructible_v<handle> && std::is_nothrow_move_constructible_v<handle>);
static_assert(std::is_nothrow_copy_assignable_v<handle> && std::is_nothrow_move_assignable_v<handle>);

/// Returns whether the call throws std::invalid_argument.
template <class F>
bool is_refused(F f) {
    try {
        f();
    } catch (const std::invalid_argument&) {
        return true;
    }
    return false;
}

} // namespace

// ---- the forms

TEST_CASE("Posts by handle and by key of one lane run in the order of the posts, one at a time") {
    thread_pool pool(2);
    const int_lanes l(pool.get_executor());
    const handle seven = l.lane(7);
    CHECK(seven.key() == 7);
    std::vector<int> order;
    for (int i = 0; i != 1'000; i += 4) {
        const auto note = [&order](int n) { return [&order, n] { order.push_back(n); }; };
        CHECK(l.post(7, note(i)));
        CHECK(l.post(seven, note(i + 1)));
        CHECK(l.post({seven}, note(i + 2)));
        CHECK(l.defer(seven, note(i + 3)));
    }
    l.wait_idle(seven);
    CHECK(order.size() == 1'000);
    CHECK(std::is_sorted(order.begin(), order.end()));
}

TEST_CASE("A request by handles has the lanes of their keys, mixed with keys and with readers") {
    thread_pool pool(1);
    const int_lanes l(pool.get_executor(), {.shards = 4});
    const std::vector<handle> all{l.lane(0), l.lane(1), l.lane(2)};
    const handle& zero = all[0];
    const handle& one = all[1];
    std::string order;
    const auto note = [&order](char c) { return [&order, c] { order += c; }; };
    {
        held_worker worker(pool);
        CHECK(l.post({zero, one}, note('a')));
        CHECK(l.post(l.keys().write(one).read(all[2]), note('b')));
        CHECK(l.post(l.keys().write_all(all).read(5), note('c')));
        CHECK(l.defer(l.keys().read_all(all).write(5), note('d')));
        CHECK(l.defer({zero, all[2]}, note('e')));
        CHECK(l.post({0, 1, 2, 5}, note('f')));
        CHECK(l.post(l.keys().read(zero, one).write(all[2], zero), note('g')));
        l.dispatch({one, zero}, note('h'));
        CHECK(l.post(l.keys().read_all(std::array<handle, 2>{zero, one}), note('i')));
        CHECK(l.post({l.lane(0), l.lane(9)}, note('j'))); // temporary handles
        worker.open();
    }
    pool.wait_idle();
    CHECK(order == "abcdefghij");
    CHECK(l.active() == 0);
    CHECK(l.metrics().posted == 10);
    CHECK(l.metrics().run == 10);
}

TEST_CASE("A handle and the key of the same lane count once in a request") {
    thread_pool pool(1);
    const int_lanes l(pool.get_executor(), {.lane_capacity = 1});
    const handle one = l.lane(1);
    const handle two = l.lane(2);
    int ran = 0;
    held_worker worker(pool);
    CHECK(l.post(1, [&] { ++ran; })); // takes the only place
    CHECK(l.post(l.keys().write(two).write(2).read(2, 2).write(two), [&] { ++ran; }));
    CHECK_FALSE(l.post(l.keys().read(2).read(two), [&] { ++ran; }));
    CHECK_FALSE(l.post({one, two}, [&] { ++ran; }));
    CHECK(l.depth(two) == 1);
    worker.open();
    pool.wait_idle();
    CHECK(ran == 2);
    CHECK(l.active() == 0);
}

TEST_CASE("dispatch by handle calls at once inside of the lane, and if the lane is idle") {
    thread_pool pool(1);
    const int_lanes l(pool.get_executor());
    const handle one = l.lane(1);
    const handle two = l.lane(2);
    int ran = 0;
    pool.submit([&] {
            l.dispatch(one, [&] { ++ran; });
            CHECK(ran == 1);
            l.dispatch(1, [&] {
                ++ran;
                CHECK(l.running_in_this_thread(one));
                CHECK(l.running_in_this_thread(1));
                CHECK_FALSE(l.running_in_this_thread(two));
                l.dispatch(one, [&] { ++ran; });
                CHECK(ran == 3);
            });
            CHECK(ran == 3);
        })
        .get();
    CHECK_FALSE(l.running_in_this_thread(one));
    CHECK(l.post(l.keys().write(one).read(two), [&] {
        l.dispatch({one}, [&] { ++ran; });
        l.dispatch(l.keys().read(two, one), [&] { ++ran; });
        CHECK(ran == 5);
        CHECK(l.running_in_this_thread(two));
        l.dispatch(two, [&] { ++ran; }); // other readers may run
        CHECK(ran == 5);
    }));
    pool.wait_idle();
    CHECK(ran == 6);
    l.dispatch(one, [&] { ++ran; }); // not a thread of the pool
    l.wait_idle(one);
    CHECK(ran == 7);
}

TEST_CASE("The executor of a handle is the executor of its key") {
    thread_pool pool(1);
    const int_lanes l(pool.get_executor());
    std::optional<handle> one = l.lane(1);
    const auto executor = l.get_executor(*one);
    CHECK(executor == l.get_executor(1));
    one.reset();
    CHECK(executor.submit([] { return 42; }).get() == 42);
}

TEST_CASE("close and depth by handle concern the lane of the key") {
    tally all;
    thread_pool pool(1);
    const int_lanes l(pool.get_executor());
    const handle one = l.lane(1);
    std::latch is_running(1);
    std::latch go_on(1);
    CHECK(l.post(one, all.function([&] {
        is_running.count_down();
        go_on.wait();
    })));
    is_running.wait();
    CHECK(l.post(1, all.function()));
    CHECK(l.post(one, all.function()));
    CHECK(l.post({one, l.lane(2)}, all.function()));
    CHECK(l.depth(one) == 4); // with the running function, which the batch contains
    CHECK(l.depth(1) == 4);
    CHECK(l.close(one) == 3);
    CHECK(l.depth(one) == 1);
    CHECK(l.post(one, all.function())); // abandoned, because the lane is closed until it is idle
    go_on.count_down();
    l.wait_idle(one);
    CHECK(all.ran.load() == 1);
    CHECK(all.is_settled());
    CHECK(l.close(one) == 0);
    CHECK(l.post(one, all.function())); // the lane that the handle keeps is open again
    l.wait_idle(one);
    CHECK(all.ran.load() == 2);
    CHECK(l.metrics().dropped == 4);
}

TEST_CASE("Each form of wait_idle accepts a handle") {
    thread_pool pool(1);
    const int_lanes l(pool.get_executor());
    const handle one = l.lane(1);
    std::stop_source stop;
    const auto deadline = [] { return std::chrono::steady_clock::now() + 1h; };
    l.wait_idle(one); // an idle lane
    CHECK(l.wait_idle_for(one, 0ms));
    int ran = 0;
    for (int round = 0; round != 2; ++round) {
        held_worker worker(pool);
        CHECK(l.post(one, [&] { ++ran; }));
        CHECK_FALSE(l.wait_idle_for(one, 1ms));
        CHECK_FALSE(l.wait_idle_until(one, std::chrono::steady_clock::now()));
        CHECK_FALSE(l.wait_idle(one, wait_limit::after(1ms)));
        worker.open();
        if (round == 0) {
            CHECK(l.wait_idle_until(one, deadline()));
        } else {
            CHECK(l.wait_idle(one, stop.get_token()));
        }
        CHECK(ran == round + 1);
    }
    held_worker worker(pool);
    CHECK(l.post(one, [&] {
        CHECK_THROWS_AS(l.wait_idle(one), std::system_error);
        ++ran;
    }));
    stop.request_stop();
    CHECK_FALSE(l.wait_idle(one, stop.get_token()));
    worker.open();
    l.wait_idle(1);
    CHECK(ran == 3);
}

TEST_CASE("A handle of other lanes is refused like a list of keys of other lanes, and nothing is lost") {
    tally all;
    thread_pool pool(1);
    const int_lanes l(pool.get_executor());
    const int_lanes others(pool.get_executor());
    const handle other = others.lane(1);
    auto function = all.function();
    CHECK_THROWS_WITH_AS((void)l.post(other, std::move(function)),
                         "post: keys is a list or handle of other lanes, allowed is one of these lanes",
                         std::invalid_argument);
    CHECK(is_refused([&] { (void)l.defer(other, std::move(function)); }));
    CHECK(is_refused([&] { l.dispatch(other, std::move(function)); }));
    CHECK(is_refused([&] { (void)l.post({l.lane(1), other}, std::move(function)); }));
    CHECK(is_refused([&] { (void)l.post(l.keys().read(other), std::move(function)); }));
    CHECK(is_refused([&] { (void)l.get_executor(other); }));
    CHECK(is_refused([&] { (void)l.depth(other); }));
    CHECK(is_refused([&] { (void)l.close(other); }));
    CHECK(is_refused([&] { l.wait_idle(other); }));
    CHECK(is_refused([&] { (void)l.wait_idle_for(other, 1ms); }));
    CHECK(is_refused([&] { (void)l.running_in_this_thread(other); }));
    handle moved = l.lane(1);
    const handle target = std::move(moved);
    CHECK(is_refused([&] { (void)l.post(moved, std::move(function)); })); // NOLINT: a moved handle
    CHECK(all.gone.load() == 0);                                          // not moved
    CHECK(l.post(target, std::move(function)));
    l.wait_idle(target);
    CHECK(all.is_settled());
    CHECK(l.active() + others.active() == 0);
}

TEST_CASE("A handle can be copied, moved, assigned and compared") {
    thread_pool pool(1);
    const int_lanes l(pool.get_executor());
    handle a = l.lane(1);
    handle b = l.lane(2);
    CHECK(a != b);
    CHECK(a == l.lane(1));
    const handle copied = a;
    CHECK(copied == a);
    std::swap(a, b);
    CHECK(b == copied);
    a = b;
    CHECK(a == copied);
    const handle& same = a;
    a = same; // to itself
    CHECK(a.key() == 1);
    b = std::move(a);
    a = l.lane(3);
    CHECK(a.key() == 3);
    CHECK(b.key() == 1);
    int ran = 0;
    CHECK(l.post({a, b, copied}, [&] { ++ran; }));
    pool.wait_idle();
    CHECK(ran == 1);
}
