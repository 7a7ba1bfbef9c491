#include <ekiden/async/async_event.hpp>
#include <ekiden/async/async_lock.hpp>
#include <ekiden/async/co_spawn.hpp>
#include <ekiden/async/coroutine.hpp>
#include <ekiden/async/resume_on.hpp>
#include <ekiden/lanes/lanes.hpp>
#include <ekiden/pool/thread_pool.hpp>
#include <ekiden/sync/event.hpp>
#include <ekiden/sync/mutex.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <thread>

using ekiden::coroutine;
using ekiden::event;
using ekiden::lanes;
using ekiden::thread_pool;

namespace {

constexpr ekiden::lanes_options one_waits{.lane_capacity = 1, .policy = ekiden::when_full::block};

} // namespace

TEST_CASE("set() of an event resumes a coroutine of a full lane, and does not wait for room") {
    thread_pool pool({.threads = 2});
    lanes<int> full(pool, one_waits);
    event awaited;
    std::atomic<int> ended{0};
    ekiden::co_spawn(pool, [&]() -> coroutine<> {
        co_await ekiden::resume_on(full.get_executor(1));
        co_await ekiden::async_wait(awaited);
        ++ended;
    });
    pool.wait_idle();
    std::atomic<bool> has_begun{false};
    CHECK(full.post(1, [&] { // keeps the lane busy until the event is set
        has_begun = true;
        awaited.wait();
        ++ended;
    }));
    while (!has_begun) std::this_thread::yield();
    CHECK(full.post(1, [&] { ++ended; })); // now the lane is full
    awaited.set();
    pool.wait_idle();
    CHECK(ended == 3);
}

TEST_CASE("unlock() passes the mutex to a coroutine of a full lane, and does not wait for room") {
    thread_pool pool({.threads = 2});
    lanes<int> full(pool, one_waits);
    ekiden::mutex first;
    ekiden::mutex second;
    std::atomic<int> ended{0};
    first.lock();
    second.lock();
    ekiden::co_spawn(pool, [&]() -> coroutine<> {
        co_await ekiden::resume_on(full.get_executor(1));
        const auto held = co_await ekiden::async_lock(first);
        ++ended;
    });
    pool.wait_idle();
    std::atomic<bool> has_begun{false};
    CHECK(full.post(1, [&] {
        has_begun = true;
        second.lock();
        second.unlock();
        ++ended;
    }));
    while (!has_begun) std::this_thread::yield();
    CHECK(full.post(1, [&] { ++ended; }));
    first.unlock();
    second.unlock();
    pool.wait_idle();
    CHECK(ended == 3);
}
