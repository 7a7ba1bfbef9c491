// Each form of lanes::wait_idle(): the lane falls idle, the time passes, a stop is requested before or
// meanwhile; in a thread, in a worker of a pool, in a simulation, in the child of a fork.
#include <ekiden/lanes/lanes.hpp>
#include <ekiden/pool/thread_pool.hpp>
#include <ekiden/sim/sim_context.hpp>
#include <ekiden/sync/event.hpp>

#include <tests/unit/asleep.hpp>
#include <tests/unit/child_process.hpp>
#include <tests/unit/posix.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <stop_token>
#include <system_error>
#include <thread>

using namespace ekiden;
using namespace std::chrono_literals;

namespace {

using lanes_of_pool = lanes<int, thread_pool::executor_type>;

/// A lane whose function runs until it is released.
struct busy_lane {
    explicit busy_lane(const lanes_of_pool& l) {
        (void)l.post(1, [this] {
            begun.set();
            release.wait();
        });
        begun.wait();
    }

    event begun;
    event release;
};

/// Calls `wait` with each form that has a limit, of which none is reached in a test.
template <class Lanes, class Wait>
void with_each_far_limit(const Lanes& l, Wait&& wait) {
    const std::stop_source never;
    wait([&] { return l.wait_idle(1, never.get_token()); });
    wait([&] { return l.wait_idle(1, wait_limit()); });
    wait([&] { return l.wait_idle(1, wait_limit::after(1h)); });
    wait([&] { return l.wait_idle(1, wait_limit::after(1h).with(never.get_token())); });
    wait([&] { return l.wait_idle_for(1, 1h); });
    wait([&] { return l.wait_idle_until(1, std::chrono::system_clock::now() + 1h); });
}

std::stop_token requested() {
    std::stop_source source;
    source.request_stop();
    return source.get_token();
}

/// Whether `wait` throws that error.
template <class Wait>
bool throws(std::errc expected, Wait&& wait) {
    try {
        (void)wait();
    } catch (const std::system_error& error) {
        return error.code() == expected;
    }
    return false;
}

} // namespace

TEST_CASE("each form of wait_idle finds a lane idle that is idle, also when its limit has been reached") {
    thread_pool pool(1);
    const lanes_of_pool l(pool.get_executor());
    l.wait_idle(1);
    with_each_far_limit(l, [](auto wait) { CHECK(wait()); });
    CHECK(l.wait_idle(1, requested()));
    CHECK(l.wait_idle(1, wait_limit(requested())));
    CHECK(l.wait_idle_for(1, 0s));
    CHECK(l.wait_idle_until(1, std::chrono::steady_clock::time_point::min()));
}

TEST_CASE("a wait_idle whose limit has been reached gives up on a lane that runs, and other lanes are idle") {
    thread_pool pool(1);
    const lanes_of_pool l(pool.get_executor());
    busy_lane busy(l);
    CHECK_FALSE(l.wait_idle(1, requested()));
    CHECK_FALSE(l.wait_idle(1, wait_limit::after(1h).with(requested())));
    CHECK_FALSE(l.wait_idle(1, wait_limit::after(-1s)));
    CHECK_FALSE(l.wait_idle_for(1, 0s));
    CHECK_FALSE(l.wait_idle_for(1, 1ms));
    CHECK_FALSE(l.wait_idle_until(1, std::chrono::system_clock::time_point::min()));
    CHECK(l.wait_idle_for(2, 0s));
    busy.release.set();
    l.wait_idle(1);
    CHECK(l.wait_idle_for(1, 0s));
}

TEST_CASE("each form of wait_idle ends when the lane falls idle") {
    thread_pool pool(1);
    const lanes_of_pool l(pool.get_executor());
    const auto check = [&](auto wait) {
        busy_lane busy(l);
        std::thread waiter = ekiden_test::start_asleep([&] { CHECK(wait()); });
        busy.release.set();
        waiter.join();
    };
    check([&] { return l.wait_idle(1), true; });
    with_each_far_limit(l, check);
}

TEST_CASE("wait_idle waits for what the functions of the lane post to the lane") {
    thread_pool pool(2);
    const lanes_of_pool l(pool.get_executor());
    for (int i = 0; i != 1000; ++i) {
        std::atomic<bool> has_run{false};
        const auto posts = [&] { (void)l.post(1, [&] { has_run = true; }); };
        (void)(i % 2 == 0 ? l.post(1, posts) : l.post({1, 2}, posts));
        l.wait_idle(1);
        const bool was_idle = has_run;
        pool.wait_idle();
        REQUIRE(was_idle);
    }
}

TEST_CASE("a stop that is requested during a wait_idle ends that wait, and no other one") {
    thread_pool pool(1);
    const lanes_of_pool l(pool.get_executor());
    busy_lane busy(l);
    std::stop_source stop;
    std::thread before = ekiden_test::start_asleep([&] { l.wait_idle(1); });
    std::thread stopped = ekiden_test::start_asleep([&] { CHECK_FALSE(l.wait_idle(1, stop.get_token())); });
    std::thread last = ekiden_test::start_asleep(
        [&] { CHECK_FALSE(l.wait_idle(1, wait_limit::after(1h).with(stop.get_token()))); });
    stop.request_stop();
    stopped.join();
    last.join();
    std::thread after = ekiden_test::start_asleep([&] { CHECK(l.wait_idle_for(1, 1h)); });
    busy.release.set();
    before.join();
    after.join();
}

TEST_CASE("a stop that is requested while the lane falls idle leaves nothing behind") {
    thread_pool pool(2);
    const lanes_of_pool l(pool.get_executor());
    for (int i = 0; i != 2000; ++i) {
        std::stop_source stop;
        (void)l.post(1, [] {});
        std::thread stopper([&] { stop.request_stop(); });
        (void)l.wait_idle(1, stop.get_token());
        stopper.join();
    }
    l.wait_idle(1);
    CHECK(l.active() == 0);
}

TEST_CASE("a worker that waits for a lane with a stop token runs nothing meanwhile, and ends at the stop") {
    thread_pool pool(2);
    const lanes_of_pool l(pool.get_executor());
    busy_lane busy(l); // on one worker
    std::stop_source stop;
    event waits;
    std::atomic<bool> has_run{false};
    auto came = pool.submit([&] {
        waits.set();
        return l.wait_idle(1, stop.get_token()) || has_run;
    });
    waits.wait();
    auto other = pool.submit([&] { has_run = true; });
    stop.request_stop();
    CHECK_FALSE(came.get());
    other.get();
    busy.release.set();
    l.wait_idle(1);
}

TEST_CASE("inside of the lane each form of wait_idle throws") {
    thread_pool pool(1);
    const lanes_of_pool l(pool.get_executor());
    bool all = true;
    (void)l.post(1, [&] {
        const auto deadlocks = [](auto wait) {
            return throws(std::errc::resource_deadlock_would_occur, wait);
        };
        all = deadlocks([&] { return l.wait_idle(1), true; });
        with_each_far_limit(l, [&](auto wait) { all = all && deadlocks(wait); });
        all = all && deadlocks([&] { return l.wait_idle(1, requested()); });
    });
    l.wait_idle(1);
    CHECK(all);
}

TEST_CASE("in a simulation wait_idle runs what the lane waits for, and ends at the stop of another step") {
    sim_context sim;
    const lanes<int> l(sim.get_executor());
    int ran = 0;
    (void)l.post(1, [&] { ++ran; });
    CHECK_FALSE(l.wait_idle_for(1, 0s));
    CHECK(ran == 0);
    CHECK(l.wait_idle_for(1, 1h));
    CHECK(ran == 1);
    std::stop_source stop;
    sim.get_executor().post([&] { stop.request_stop(); });
    (void)l.post(1, [&] { ++ran; });
    CHECK_FALSE(l.wait_idle(1, stop.get_token()));
    CHECK(ran == 1);
    with_each_far_limit(l, [](auto wait) { CHECK(wait()); });
    CHECK(ran == 2);
}

TEST_CASE("in the child of a fork each form of wait_idle throws") {
    EKIDEN_SKIP_ON_WINDOWS("there is no fork()");
    thread_pool pool(1);
    const lanes_of_pool l(pool.get_executor());
    const auto child = ekiden_test::run_in_child([&] {
        const auto refuses = [](auto wait) { return throws(std::errc::operation_not_permitted, wait); };
        bool all = refuses([&] { return l.wait_idle(1), true; });
        with_each_far_limit(l, [&](auto wait) { all = all && refuses(wait); });
        std::_Exit(all ? 7 : 1);
    });
    CHECK(child.exit_code == 7);
}

TEST_CASE("A lane that close() leaves without functions is idle, although its pool is paused") {
    for (const int other : {0, 1, 2}) { // the number of ready lanes in front of the lane
        thread_pool pool(1);
        const lanes<int> l(pool, {.shards = 1});
        std::atomic<int> ran{0};
        pool.pause();
        for (int key = 0; key != other; ++key) CHECK(l.post(key, [&] { ran.fetch_add(1); }));
        CHECK(l.post(7, [&] { ran.fetch_add(100); }));
        CHECK(l.post(8, [&] { ran.fetch_add(1); }));
        CHECK(l.depth(7) == 1);
        CHECK(l.close(7) == 1);
        CHECK(l.wait_idle_for(7, std::chrono::seconds(0)));
        CHECK(l.active() == static_cast<std::size_t>(other) + 1);
        CHECK(l.post(7, [&] { ran.fetch_add(10); }));
        pool.resume();
        pool.wait_idle();
        CHECK(ran.load() == other + 11);
        CHECK(l.active() == 0);
    }
}

TEST_CASE("close() ends the waits for a lane of a paused pool") {
    thread_pool pool(1);
    const lanes<int> l(pool);
    const auto handle = l.lane(7);
    pool.pause();
    CHECK(l.post(handle, [] {}));
    std::thread waiter([&] { l.wait_idle(handle); });
    CHECK(l.close(handle) == 1);
    waiter.join();
    CHECK(l.active() == 0);
    pool.resume();
}
