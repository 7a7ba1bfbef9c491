#include <ekiden/async/async_event.hpp>
#include <ekiden/async/async_lock.hpp>
#include <ekiden/async/co_spawn.hpp>
#include <ekiden/async/coroutine.hpp>
#include <ekiden/async/resume_on.hpp>
#include <ekiden/async/sync_wait.hpp>
#include <ekiden/execution/post.hpp>
#include <ekiden/execution/use_future.hpp>
#include <ekiden/future/future.hpp>
#include <ekiden/future/promise.hpp>
#include <ekiden/lanes/lanes.hpp>
#include <ekiden/pool/thread_pool.hpp>
#include <ekiden/sync/event.hpp>
#include <ekiden/sync/mutex.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <thread>
#include <utility>

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

TEST_CASE("a task that runs while a coroutine waits for room can wait for a coroutine that is refused") {
    thread_pool stopped({.threads = 1});
    stopped.stop();
    stopped.join();
    thread_pool pool({.threads = 1});
    lanes<int> full(pool, one_waits);
    pool.pause();
    ekiden::co_spawn(pool, [&]() -> coroutine<> { co_await ekiden::resume_on(full.get_executor(1)); });
    std::atomic<bool> is_refused{false};
    ekiden::post(pool.get_executor(), [&] {
        try {
            ekiden::sync_wait(stopped.get_executor(), []() -> coroutine<> { co_return; });
        } catch (const ekiden::operation_canceled&) {
            is_refused = true;
        }
    });
    CHECK(full.post(1, [] {})); // now the lane is full
    pool.resume();
    pool.wait_idle();
    CHECK(is_refused);
}

namespace {

/// Waits for a future before it passes a function to a pool.
class waiting_executor {
public:
    waiting_executor(thread_pool& pool, ekiden::future<void>& awaited) noexcept
        : pool_(&pool), awaited_(&awaited) {}
    [[nodiscard]] thread_pool& context() const noexcept { return *pool_; }
    void on_work_started() const noexcept {}
    void on_work_finished() const noexcept {}
    template <class F, class A>
    void post(F&& f, const A& a) const {
        if (awaited_->valid()) awaited_->wait();
        pool_->get_executor().post(std::forward<F>(f), a);
    }
    template <class F, class A>
    void dispatch(F&& f, const A& a) const {
        post(std::forward<F>(f), a);
    }
    template <class F, class A>
    void defer(F&& f, const A& a) const {
        post(std::forward<F>(f), a);
    }
    friend bool operator==(const waiting_executor&, const waiting_executor&) = default;

private:
    thread_pool* pool_;
    ekiden::future<void>* awaited_;
};

} // namespace

TEST_CASE("a task that runs while the executor of a resumed coroutine waits can resume another coroutine") {
    thread_pool pool({.threads = 1});
    event first;
    event second;
    std::atomic<int> result{0};
    ekiden::promise<void> has_run;
    ekiden::future<void> awaited;
    ekiden::co_spawn(pool, [&]() -> coroutine<> {
        co_await ekiden::resume_on(waiting_executor(pool, awaited));
        co_await ekiden::async_wait(first);
    });
    auto woken = ekiden::co_spawn(
        pool,
        [&]() -> coroutine<int> {
            co_await ekiden::async_wait(second);
            co_return 7;
        },
        ekiden::use_future);
    pool.wait_idle();
    awaited = has_run.get_future();
    pool.pause();
    ekiden::post(pool.get_executor(), [&] { first.set(); });
    ekiden::post(pool.get_executor(), [&] {
        second.set();
        result = woken.get();
        has_run.set_value();
    });
    pool.resume();
    pool.wait_idle();
    CHECK(result == 7);
}
