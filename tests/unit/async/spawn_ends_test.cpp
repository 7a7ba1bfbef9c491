#include <ekiden/async/async_event.hpp>
#include <ekiden/async/co_spawn.hpp>
#include <ekiden/async/coroutine.hpp>
#include <ekiden/async/use_awaitable.hpp>
#include <ekiden/execution/bind_executor.hpp>
#include <ekiden/execution/post.hpp>
#include <ekiden/execution/use_future.hpp>
#include <ekiden/future/operation_canceled.hpp>
#include <ekiden/loop/loop_context.hpp>
#include <ekiden/pool/thread_pool.hpp>
#include <ekiden/sync/event.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <exception>
#include <optional>
#include <stdexcept>
#include <thread>
#include <utility>

using ekiden::coroutine;
using ekiden::loop_context;

namespace {

/// Sets a flag when it is destroyed, after some time.
struct slow_to_end {
    std::atomic<bool>* has_ended;

    explicit slow_to_end(std::atomic<bool>& flag) : has_ended(&flag) {}
    slow_to_end(slow_to_end&& other) noexcept : has_ended(std::exchange(other.has_ended, nullptr)) {}
    ~slow_to_end() {
        if (has_ended == nullptr) return;
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        *has_ended = true;
    }
};

/// A result whose default constructor throws.
struct without_default {
    without_default() { throw std::runtime_error("no default value"); }
    explicit without_default(int) {}
};

/// A result whose copies throw after some time.
struct costly_to_copy {
    static inline int copies_left = 0;
    costly_to_copy() = default;
    costly_to_copy(const costly_to_copy&) {
        if (copies_left-- == 0) throw std::runtime_error("no copy");
    }
};

template <class Token>
auto async_make(loop_context& loop, Token&& token) {
    return ekiden::async_initiate<Token, void(costly_to_copy)>(
        [&loop](auto handler) {
            ekiden::post(loop.get_executor(), [handler = std::move(handler)]() mutable {
                const costly_to_copy made;
                std::move(handler)(made);
            });
        },
        std::forward<Token>(token));
}

} // namespace

TEST_CASE("the future of a dropped coroutine is ready after its callable was destroyed") {
    std::atomic<bool> has_ended{false};
    ekiden::event never;
    std::optional<loop_context> loop(std::in_place, 1);
    auto result = ekiden::co_spawn(
        *loop,
        [&never, last = slow_to_end(has_ended)]() -> coroutine<> { co_await ekiden::async_wait(never); },
        ekiden::use_future);
    loop->poll();
    std::thread ends([&] { loop.reset(); });
    CHECK_THROWS_AS(result.get(), ekiden::operation_canceled);
    CHECK(has_ended);
    ends.join();
}

TEST_CASE("a coroutine fails whose result has a default constructor that throws") {
    loop_context loop(1);
    bool is_called = false;
    ekiden::co_spawn(
        loop,
        []() -> coroutine<without_default> {
            throw std::logic_error("failed");
            co_return without_default(1);
        },
        [&](std::exception_ptr, without_default) { is_called = true; });
    CHECK_THROWS_AS(loop.run(), std::runtime_error);
    CHECK_FALSE(is_called); // there is no result to call it with
}

TEST_CASE("a copy of a result that throws is thrown by the await of the operation") {
    for (int copies = 0; copies != 4; ++copies) {
        loop_context loop(1);
        bool has_thrown = false;
        bool has_ended = false;
        costly_to_copy::copies_left = copies;
        ekiden::co_spawn(loop, [&]() -> coroutine<> {
            try {
                static_cast<void>(co_await async_make(loop, ekiden::use_awaitable));
            } catch (const std::runtime_error&) {
                has_thrown = true;
            }
            has_ended = true;
        });
        for (bool is_done = false; !is_done;) {
            try {
                loop.run();
                is_done = true;
            } catch (const std::runtime_error&) { // the copy of the argument of the handler
            }
        }
        if (copies > 0) CHECK(has_ended);
        if (copies == 1) CHECK(has_thrown);
    }
}

TEST_CASE("a handler that is bound to an executor is outstanding work there until it is called or dropped") {
    loop_context loop;
    ekiden::event go;
    int result = 0;
    {
        ekiden::thread_pool pool({.threads = 1});
        const auto waits = [&]() -> coroutine<int> {
            co_await ekiden::async_wait(go);
            co_return 7;
        };
        ekiden::co_spawn(pool, waits,
                         ekiden::bind_executor(loop, [&](std::exception_ptr, int value) { result = value; }));
        pool.post([&] { go.set(); });
        CHECK(loop.run() == 1);
        CHECK(result == 7);
        loop.restart();
        go.reset();
        ekiden::co_spawn(pool, waits,
                         ekiden::bind_executor(loop, [](std::exception_ptr, int) { FAIL("it is dropped"); }));
        CHECK(loop.run_for(std::chrono::milliseconds(1)) == 0);
        CHECK_FALSE(loop.is_stopped()); // it still waits for the handler
        pool.stop();
    }
    CHECK(loop.run() == 0); // returns, because the end of the pool has dropped the handler
}
