#include "user_executor.hpp"

#include <ekiden/execution/strand.hpp>
#include <ekiden/execution/then.hpp>
#include <ekiden/future/promise.hpp>
#include <ekiden/future/when_all.hpp>
#include <ekiden/future/when_any.hpp>
#include <ekiden/loop/loop_context.hpp>
#include <ekiden/pool/thread_pool.hpp>

#include <tests/unit/child_process.hpp>
#include <tests/unit/effort.hpp>
#include <tests/unit/posix.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <future>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

TEST_CASE("then goes on with the result, on the executor that was named") {
    ekiden::thread_pool pool(1);
    ekiden::thread_pool other(1);
    auto result =
        pool.submit([] { return 6; })
            .then(other.get_executor(),
                  [&](int i) { return std::to_string(i) + (other.running_in_this_thread() ? "y" : "n"); })
            .then(pool.get_executor(),
                  [&](std::string s) { return s + (pool.running_in_this_thread() ? "y" : "n"); });
    CHECK(result.get() == "6yy");
}

TEST_CASE("a generic function takes the result, and need not make sense of a future") {
    ekiden::thread_pool pool(1);
    auto size = pool.submit([] { return std::string("four"); }).then(pool.get_executor(), [](auto text) {
        return text.size();
    });
    CHECK(size.get() == 4);
}

TEST_CASE("then is never called here and now, also if the result is there") {
    users_context home;
    ekiden::promise<void> promise;
    promise.set_value();
    bool was_called = false;
    auto result = promise.get_future().then(home.get_executor(), [&] { was_called = true; });
    CHECK(!was_called);
    CHECK(!result.is_ready());
    CHECK(home.run() == 1);
    CHECK(was_called);
    result.get();
}

TEST_CASE("a failure passes by a function that takes the result, and reaches one that takes the future") {
    users_context home;
    ekiden::promise<int> promise;
    bool was_called = false;
    auto passed = promise.get_future()
                      .then(home.get_executor(),
                            [&](int i) {
                                was_called = true;
                                return i;
                            })
                      .then(home.get_executor(), [](ekiden::future<int> ended) {
                          REQUIRE(ended.is_ready());
                          CHECK_THROWS_AS(ended.get(), std::runtime_error);
                          return 5;
                      });
    promise.set_exception(std::make_exception_ptr(std::runtime_error("x")));
    home.run();
    CHECK(!was_called);
    CHECK(passed.get() == 5);
}

TEST_CASE("a broken promise and a canceled task pass by, too") {
    ekiden::thread_pool pool(1);
    auto broken = ekiden::promise<int>().get_future().then(pool.get_executor(), [](int i) { return i; });
    CHECK_THROWS_AS(broken.get(), std::future_error);
    pool.pause();
    auto queued = pool.submit([] { return 1; });
    queued.cancel();
    pool.resume();
    auto canceled = std::move(queued).then(pool.get_executor(), [](int i) { return i; });
    CHECK_THROWS_AS(canceled.get(), std::system_error);
}

TEST_CASE("what waits for a result can be canceled, and the result comes all the same") {
    users_context home;
    ekiden::promise<std::shared_ptr<int>> promise;
    const auto held = std::make_shared<int>(1);
    auto later =
        promise.get_future().then(home.get_executor(), [held](std::shared_ptr<int> p) { return *p; });
    CHECK(held.use_count() == 2);
    CHECK(later.cancel());
    CHECK(held.use_count() == 1); // the function has been destroyed
    CHECK_THROWS_AS(later.get(), std::system_error);
    auto value = std::make_shared<int>(2);
    promise.set_value(value);
    home.run();
    promise = {};
    CHECK(value.use_count() == 1);
}

TEST_CASE("the executor has work while the result is awaited") {
    users_context home;
    ekiden::promise<int> promise;
    auto result = promise.get_future().then(home.get_executor(), [](int i) { return i; });
    CHECK(home.work == 1);
    promise.set_value(1);
    CHECK(home.work == 0);
    home.run();
    CHECK(result.get() == 1);
}

TEST_CASE("an executor that takes no more: the future reports that") {
    ekiden::thread_pool pool(1);
    ekiden::promise<int> promise;
    auto result = promise.get_future().then(pool.get_executor(), [](int i) { return i; });
    pool.stop();
    promise.set_value(1);
    CHECK_THROWS_AS(result.get(), std::system_error);
}

TEST_CASE("a future that goes without its result being taken drops nothing but that") {
    users_context home;
    bool was_called = false;
    ekiden::promise<int> promise;
    (void)promise.get_future().then(home.get_executor(), [&](int) { was_called = true; });
    promise.set_value(1);
    home.run();
    CHECK(was_called);
}

TEST_CASE("references and results that can only be moved pass through") {
    users_context home;
    int target = 1;
    ekiden::promise<int&> promise;
    auto result = promise.get_future().then(home.get_executor(), [](int& i) -> int& { return i; });
    promise.set_value(target);
    home.run();
    CHECK(&result.get() == &target);
    ekiden::promise<std::unique_ptr<int>> moving;
    auto moved = moving.get_future().then(home.get_executor(), [](std::unique_ptr<int> p) { return p; });
    moving.set_value(std::make_unique<int>(4));
    home.run();
    CHECK(*moved.get() == 4);
}

TEST_CASE("an empty function is refused, and the future stays as it is") {
    users_context home;
    ekiden::promise<int> promise;
    auto result = promise.get_future();
    CHECK_THROWS_AS((void)result.then(home.get_executor(), std::function<void(int)>()),
                    std::invalid_argument);
    CHECK(result.valid());
    CHECK_THROWS_AS((void)ekiden::future<int>().then(home.get_executor(), [](int) {}), std::future_error);
}

TEST_CASE("a chain that is longer than a stack is deep ends, is refused, and is dropped") {
    constexpr int links = 200'000;
    const auto chain = [](ekiden::thread_pool& pool, ekiden::future<int> last) {
        for (int i = 0; i < links; ++i) last = last.then(pool.get_executor(), [](int n) { return n + 1; });
        return last;
    };
    {
        ekiden::thread_pool pool(2);
        ekiden::promise<int> promise;
        auto last = chain(pool, promise.get_future());
        promise.set_value(0);
        CHECK(last.get() == links);
    }
    {
        ekiden::thread_pool pool(1);
        ekiden::promise<int> promise;
        auto last = chain(pool, promise.get_future());
        pool.stop();
        promise.set_value(0);
        CHECK_THROWS_AS(last.get(), std::system_error);
    }
    {
        ekiden::thread_pool pool(1);
        ekiden::promise<int> promise;
        {
            auto dropped = chain(pool, promise.get_future());
        }
        promise.set_value(0);
        pool.wait_idle();
    }
}

TEST_CASE(
    "completion, continuation and cancellation at the same time: each function runs or is dropped, once") {
    ekiden::thread_pool pool(2);
    for (int round = 0; round < 2'000; ++round) {
        ekiden::promise<int> promise;
        const auto token = std::make_shared<int>(0);
        std::atomic<int> runs{0};
        auto source = promise.get_future();
        std::thread producer([&promise] { promise.set_value(1); });
        auto later = source.then(pool.get_executor(), [token, &runs](int) { ++runs; });
        const bool was_canceled = later.cancel();
        later.wait();
        producer.join();
        CHECK(runs == (was_canceled ? 0 : 1));
        pool.wait_idle();
        CHECK(token.use_count() == 1);
    }
}

namespace {

/// The continuation of a promise that is kept until the context has ended.
template <class Context, class Executor>
void expect_canceled_with(std::unique_ptr<Context> context, const Executor& where) {
    auto token = std::make_shared<int>(0);
    ekiden::promise<int> promise;
    auto chained = promise.get_future()
                       .then(where, [token](int i) { return i + 1; })
                       .then(where, [token](ekiden::future<int> ended) { return ended.get() + 1; });
    if constexpr (requires { context->stop(); }) context->stop();
    context.reset();
    REQUIRE(chained.is_ready());
    CHECK(token.use_count() == 1);
    CHECK_THROWS_AS(chained.get(), std::system_error);
    promise.set_value(1);
}

template <class Context>
void expect_canceled_with(std::unique_ptr<Context> context) {
    const auto where = context->get_executor();
    expect_canceled_with(std::move(context), where);
}

/// Whether get() throws at once that the result cannot come.
bool is_left_behind(ekiden::future<int>& one) {
    try {
        (void)one.get();
    } catch (const std::system_error& error) {
        return error.code() == std::errc::operation_not_permitted;
    }
    return false;
}

} // namespace

TEST_CASE("A continuation is canceled when its context ends before the result is there") {
    expect_canceled_with(std::make_unique<ekiden::thread_pool>(2));
    expect_canceled_with(std::make_unique<ekiden::loop_context>(1));
    expect_canceled_with(std::make_unique<ekiden::loop_context>());
    expect_canceled_with(std::make_unique<users_context>());
    auto pool = std::make_unique<ekiden::thread_pool>(1);
    const ekiden::strand strand(pool->get_executor());
    expect_canceled_with(std::move(pool), strand);
}

TEST_CASE("A continuation of a task that is dropped with its pool may be on another pool that ends first") {
    auto first = std::make_unique<ekiden::thread_pool>(1);
    auto second = std::make_unique<ekiden::thread_pool>(1);
    first->pause();
    auto continued = first->submit([] { return 1; }).then(second->get_executor(), [](int i) { return i; });
    second->stop();
    second.reset();
    CHECK(continued.is_ready());
    first->stop();
    first.reset();
    CHECK_THROWS_AS(continued.get(), std::system_error);
}

TEST_CASE("then() on a pool that has ended its services reports operation_canceled at once") {
    ekiden::thread_pool pool(1);
    ekiden::promise<int> before;
    auto first = before.get_future().then(pool.get_executor(), [](int i) { return i; });
    before.set_value(1);
    pool.join();
    CHECK(first.get() == 1);
    ekiden::promise<int> promise;
    auto continued = promise.get_future().then(pool.get_executor(), [](int i) { return i; });
    CHECK(continued.is_ready());
    CHECK_THROWS_AS(continued.get(), std::system_error);
    promise.set_value(1);
}

TEST_CASE("Results come while the context of their continuations ends") {
    for (int round = 0; round != ekiden_test::rounds(300); ++round) {
        std::vector<ekiden::promise<int>> promises(8);
        std::vector<ekiden::future<int>> continued;
        std::atomic<int> ran{0};
        auto pool = std::make_unique<ekiden::thread_pool>(1);
        for (auto& promise : promises) {
            continued.push_back(promise.get_future().then(pool->get_executor(), [&ran](int i) {
                ++ran;
                return i;
            }));
        }
        std::thread producer([&promises] {
            for (auto& promise : promises) promise.set_value(1);
        });
        pool->stop();
        pool.reset();
        int succeeded = 0;
        for (auto& one : continued) {
            REQUIRE(one.is_ready());
            try {
                succeeded += one.get();
            } catch (const std::system_error&) {
            }
        }
        producer.join();
        CHECK(succeeded == ran);
    }
}

TEST_CASE("In the child of a fork, what continues a result of the parent ends with the same error as get()") {
    EKIDEN_SKIP_ON_WINDOWS("there is no fork()");
    ekiden::thread_pool pool(1);
    pool.pause();
    const auto queued = [&pool] { return pool.submit([] { return 1; }); };
    std::vector<ekiden::future<int>> left;
    for (int i = 0; i != 6; ++i) left.push_back(queued());
    const auto child = ekiden_test::run_in_child([&] {
        int right = 0;
        const auto ends_at_once = [](ekiden::future<int>& one) {
            if (!one.is_ready()) std::_Exit(100); // it would hang
            return is_left_behind(one);
        };
        ekiden::loop_context loop(1);
        auto on_loop = left[0].then(loop.get_executor(), [](int i) { return i; });
        auto on_pool = left[1].then(pool.get_executor(), [](ekiden::future<int> one) { return one.get(); });
        right += ends_at_once(on_loop) + ends_at_once(on_pool);
        auto all = ekiden::when_all(std::move(left[2]), std::move(left[3]));
        if (!all.is_ready()) std::_Exit(101);
        auto each = all.get();
        right += is_left_behind(std::get<0>(each)) + is_left_behind(std::get<1>(each));
        auto any = ekiden::when_any(std::move(left[4]), std::move(left[5]));
        if (!any.is_ready()) std::_Exit(102);
        auto first = any.get();
        if (first.index < 2) right += is_left_behind(std::get<0>(first.futures));
        std::_Exit(right);
    });
    CHECK(child.exit_code == 5);
    pool.resume();
}

namespace {

/// An object whose destructor sets a result, and waits until a continuation of this result has run.
struct session {
    std::optional<ekiden::promise<void>> close;
    ekiden::future<void> closed;

    explicit session(ekiden::thread_pool& pool) : close(std::in_place) {
        closed = close->get_future().then(pool.get_executor(), [] {});
    }
    session(session&& other) noexcept
        : close(std::exchange(other.close, std::nullopt)), closed(std::move(other.closed)) {}
    ~session() {
        if (!close) return;
        close->set_value();
        closed.get();
    }
};

} // namespace

TEST_CASE("the destructors of a continuation's result and callable may wait for another continuation") {
    ekiden::thread_pool pool({.threads = 2});
    pool.submit([] {}).then(pool.get_executor(), [&] { return session(pool); }).wait();
    pool.submit([] {}).then(pool.get_executor(), [last = session(pool)] {}).wait();
    ekiden::thread_pool stopped({.threads = 1});
    ekiden::promise<void> begin;
    auto refused = begin.get_future().then(stopped.get_executor(), [last = session(pool)] {});
    stopped.stop();
    begin.set_value();
    CHECK_THROWS_AS(refused.get(), std::system_error);
}

TEST_CASE("the destructor of a pool waits until another thread has ended a refused continuation") {
    struct slow_end {
        std::atomic<int>* state;
        explicit slow_end(std::atomic<int>& it) : state(&it) {}
        slow_end(slow_end&& other) noexcept : state(std::exchange(other.state, nullptr)) {}
        ~slow_end() {
            if (state == nullptr) return;
            *state = 1;
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
            *state = 2;
        }
    };
    auto pool = std::make_unique<ekiden::thread_pool>(1);
    ekiden::promise<void> begin;
    std::atomic<int> state{0};
    auto refused = begin.get_future().then(pool->get_executor(), [end = slow_end(state)] {});
    pool->stop();
    std::thread producer([&] { begin.set_value(); });
    while (state == 0) std::this_thread::yield();
    pool.reset();
    CHECK(state == 2);
    CHECK(refused.is_ready());
    producer.join();
}

TEST_CASE("the callable of a refused continuation may own the pool of its executor") {
    auto pool = std::make_shared<ekiden::thread_pool>(1);
    ekiden::promise<int> begin;
    auto refused = begin.get_future().then(pool->get_executor(), [pool](int result) { return result; });
    pool->stop();
    const std::weak_ptr<ekiden::thread_pool> owned = pool;
    pool.reset();
    begin.set_value(1);
    CHECK(owned.expired());
    CHECK_THROWS_AS(refused.get(), std::system_error);
}
