// Lambdas that are coroutines: whoever takes one keeps its captures, and what leaves one is seen.
#include "run_coroutine.hpp"

#include <ekiden/async/async_scope.hpp>
#include <ekiden/async/co_spawn.hpp>
#include <ekiden/async/sleep.hpp>
#include <ekiden/async/sync_wait.hpp>
#include <ekiden/async/when_all.hpp>
#include <ekiden/async/when_any.hpp>
#include <ekiden/async/with_deadline.hpp>
#include <ekiden/async/yield.hpp>
#include <ekiden/loop/loop_context.hpp>
#include <ekiden/pool/thread_pool.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

using namespace ekiden;
using namespace ekiden_test;
using namespace std::chrono_literals;

namespace {

/// A coroutine whose captures are used behind a suspension.
auto capturing(std::atomic<int>& alive) {
    return [text = std::make_shared<std::string>("long enough not to lie in the string itself"),
            local = witness(alive)]() -> coroutine<std::size_t> {
        co_await yield();
        co_await sleep_for(1us);
        co_return text->size();
    };
}

struct throws_later {
    coroutine<> operator()() const {
        co_await yield();
        throw std::out_of_range("the reason");
    }
};

} // namespace

TEST_CASE("rule: whatever takes a capturing coroutine lambda keeps it as long as the coroutine lives") {
    thread_pool pool(2);
    std::atomic<int> alive{0};
    const std::size_t length = std::string("long enough not to lie in the string itself").size();
    std::size_t sum = co_spawn(pool, capturing(alive), use_future).get();
    sum += sync_wait(pool.get_executor(), capturing(alive));
    sum += run_on(pool.get_executor(), [&]() -> coroutine<std::size_t> {
        std::size_t n = 0;
        n += co_await with_timeout(24h, capturing(alive));
        n += co_await with_deadline(std::chrono::steady_clock::now() + 24h, capturing(alive));
        n += co_await shield(capturing(alive));
        const auto first = co_await when_any(capturing(alive));
        n += std::get<0>(first);
        const auto all = co_await when_all(capturing(alive), capturing(alive));
        n += std::get<0>(all) + std::get<1>(all);
        const auto body = [&](async_scope& scope) -> coroutine<std::size_t> {
            (void)scope.spawn(capturing(alive));
            auto own = capturing(alive);
            const std::size_t m = co_await own();
            co_return m;
        };
        n += co_await with_scope(body);
        co_return n;
    });
    CHECK(sum == 9 * length);
    pool.join();
    CHECK(alive == 0);
}

TEST_CASE("rule: what leaves a detached coroutine is reported once, with the type of what was spawned") {
    std::atomic<int> reported{0};
    std::string type;
    thread_pool pool({.threads = 1, .on_unhandled_exception = [&](std::exception_ptr, std::string_view name) {
                          ++reported;
                          type = name;
                      }});
    co_spawn(pool, throws_later());
    pool.join();
    CHECK(reported == 1);
    CHECK(type.find("throws_later") != std::string::npos);
}

TEST_CASE("rule: no exception leaves a destructor: what nobody takes ends with the frame") {
    loop_context loop;
    std::atomic<int> alive{0};
    const auto throws = [&]() -> coroutine<int> {
        const witness local(alive);
        throw std::out_of_range("unseen");
        co_return 1;
    };
    { // never begun, and begun under another library's await, whose result nobody takes
        const auto unstarted = throws();
        auto awaiter = throws().operator co_await();
        CHECK_FALSE(awaiter.await_suspend(std::coroutine_handle<>(std::noop_coroutine())));
    }
    CHECK(alive == 0);
    { // a future that is dropped
        auto dropped = co_spawn(loop, throws, use_future);
        loop.run();
        CHECK(dropped.is_ready());
    }
    CHECK(alive == 0);
}
