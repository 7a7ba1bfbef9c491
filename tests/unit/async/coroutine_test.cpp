#include "../child_process.hpp"
#include "run_coroutine.hpp"

#include <ekiden/async/async_event.hpp>
#include <ekiden/async/async_turn.hpp>
#include <ekiden/async/await_chain.hpp>
#include <ekiden/async/await_future.hpp>
#include <ekiden/async/co_spawn.hpp>
#include <ekiden/async/coroutine.hpp>
#include <ekiden/async/get_environment.hpp>
#include <ekiden/async/resume_on.hpp>
#include <ekiden/async/sleep.hpp>
#include <ekiden/async/sync_wait.hpp>
#include <ekiden/async/when_all.hpp>
#include <ekiden/async/with_deadline.hpp>
#include <ekiden/async/yield.hpp>
#include <ekiden/execution/strand.hpp>
#include <ekiden/future/promise.hpp>
#include <ekiden/lanes/lanes.hpp>
#include <ekiden/loop/loop_context.hpp>
#include <ekiden/pool/thread_pool.hpp>
#include <ekiden/sync/event.hpp>
#include <ekiden/sync/latch.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using namespace ekiden;
using ekiden_test::number;

namespace {

coroutine<int> sum(int n) {
    int total = 0;
    for (int i = 1; i <= n; ++i) {
        const int one = co_await number(i);
        total += one;
    }
    co_return total;
}

/// What another library has: an awaiter that resumes on a thread of its own.
struct on_another_thread {
    std::thread* thread;
    std::thread::id* resumed_by = nullptr;
    bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> waiting) const {
        *thread = std::thread([waiting, by = resumed_by] {
            if (by != nullptr) *by = std::this_thread::get_id();
            waiting.resume();
        });
    }
    int await_resume() const noexcept { return 4; }
};

/// And one that hands over to the coroutine at once, by returning its handle.
struct at_once {
    bool await_ready() const noexcept { return false; }
    std::coroutine_handle<> await_suspend(std::coroutine_handle<> waiting) const noexcept { return waiting; }
    void await_resume() const noexcept {}
};

/// A coroutine of another library, with a promise that knows nothing of ours.
struct other_task {
    struct promise_type {
        other_task get_return_object() { return {result.get_future()}; }
        std::suspend_never initial_suspend() noexcept { return {}; }
        std::suspend_never final_suspend() noexcept { return {}; }
        void return_value(int n) { result.set_value(n); }
        void unhandled_exception() { result.set_exception(std::current_exception()); }
        promise<int> result;
    };
    future<int> result;
};

/// Counts what is allocated with it.
template <class T>
struct counting_allocator {
    using value_type = T;
    std::shared_ptr<long> live;
    explicit counting_allocator(std::shared_ptr<long> count) : live(std::move(count)) {}
    template <class U>
    counting_allocator(const counting_allocator<U>& other) : live(other.live) {}
    T* allocate(std::size_t n) {
        *live += static_cast<long>(n * sizeof(T));
        return std::allocator<T>().allocate(n);
    }
    void deallocate(T* p, std::size_t n) {
        *live -= static_cast<long>(n * sizeof(T));
        std::allocator<T>().deallocate(p, n);
    }
    friend bool operator==(const counting_allocator&, const counting_allocator&) = default;
};

coroutine<int> with_allocator(std::allocator_arg_t, counting_allocator<int>, int n) { co_return n; }

struct has_member {
    int n = 2;
    coroutine<int> with_allocator(std::allocator_arg_t, counting_allocator<char>, int m) { co_return n + m; }
};

} // namespace

TEST_CASE("a coroutine awaits others and returns a result") {
    CHECK(sync_wait([] { return sum(100); }) == 5050);
}

TEST_CASE("results are values that can only be moved, references, and nothing") {
    int object = 1;
    const auto moved = []() -> coroutine<std::unique_ptr<int>> { co_return std::make_unique<int>(3); };
    const auto reference = [&]() -> coroutine<int&> { co_return object; };
    const auto nothing = []() -> coroutine<> { co_return; };
    const auto all = [&]() -> coroutine<bool> {
        const auto p = co_await moved();
        int& r = co_await reference();
        co_await nothing();
        co_return *p == 3 && &r == &object;
    };
    CHECK(sync_wait(all));
}

TEST_CASE("exceptions cross awaits with their type") {
    const auto throws = []() -> coroutine<int> {
        co_await yield();
        throw std::out_of_range("far");
    };
    const auto middle = [&]() -> coroutine<int> {
        const int n = co_await throws();
        co_return n;
    };
    const auto catches = [&]() -> coroutine<std::string> {
        try {
            co_await middle();
        } catch (const std::out_of_range& error) {
            co_return error.what();
        }
        co_return "nothing";
    };
    CHECK(sync_wait(catches) == "far");
}

TEST_CASE("a coroutine that is never awaited does nothing, and destroys its parameters") {
    const auto text = std::make_shared<int>(1);
    {
        const auto make = [](std::shared_ptr<int> kept) -> coroutine<> {
            *kept = 2;
            co_return;
        };
        const coroutine<> unstarted = make(text);
        CHECK(unstarted.valid());
        CHECK(text.use_count() == 2);
    }
    CHECK(text.use_count() == 1);
    CHECK(*text == 1);
}

TEST_CASE("a frame comes from the allocator that the parameters name") {
    const auto live = std::make_shared<long>(0);
    const counting_allocator<int> allocator(live);
    {
        coroutine<int> made = with_allocator(std::allocator_arg, allocator, 5);
        CHECK(*live > 0);
        CHECK(sync_wait([&] { return std::move(made); }) == 5);
    }
    CHECK(*live == 0);
    has_member object;
    CHECK(sync_wait(
              [&] { return object.with_allocator(std::allocator_arg, counting_allocator<char>(live), 5); })
          == 7);
    CHECK(*live == 0);
    CHECK(live.use_count() == 2);
}

TEST_CASE(
    "an awaiter of another library that resumes on its own thread does not strand the coroutine there") {
    thread_pool pool(1);
    strand<thread_pool::executor_type> home(pool.get_executor());
    std::thread other;
    const auto body = [&]() -> coroutine<bool> {
        const int four = co_await on_another_thread{&other};
        co_return four == 4 && home.running_in_this_thread();
    };
    CHECK(sync_wait(home, body));
    other.join();
}

TEST_CASE("an awaiter of another library that resumes at once does not deepen the stack") {
    const auto body = []() -> coroutine<int> {
        for (int i = 0; i < 100'000; ++i) co_await at_once();
        co_return 1;
    };
    CHECK(sync_wait(body) == 1);
}

TEST_CASE("a coroutine of another library awaits ours, that ends at once, later, or with an exception") {
    promise<void> news;
    auto later = news.get_future();
    const auto waits = [&]() -> coroutine<int> {
        co_await std::move(later);
        co_return 10;
    };
    const auto fails = []() -> coroutine<int> {
        throw std::out_of_range("far");
        co_return 0;
    };
    const auto theirs = [&]() -> other_task {
        int total = 0;
        for (int i = 0; i < 1000; ++i) total += co_await number(1);
        total += co_await waits();
        try {
            co_await fails();
        } catch (const std::out_of_range&) {
            total += 100;
        }
        co_await yield();
        co_return total;
    };
    other_task task = theirs();
    news.set_value();
    CHECK(task.result.get() == 1110);
}

TEST_CASE("children inherit the environment, and a hop of one stays its own") {
    thread_pool pool(1);
    thread_pool other(1);
    const auto child = []() -> coroutine<const environment*> { co_return &co_await get_environment(); };
    const auto hopper = [&]() -> coroutine<bool> {
        const environment& before = co_await get_environment();
        co_await resume_on(other);
        const environment& after = co_await get_environment();
        const environment* const of_child = co_await child();
        co_return &before != &after&& of_child == &after&& other.running_in_this_thread()
            && std::string(after.name) == "named";
    };
    const auto body = [&]() -> coroutine<bool> {
        const environment& own = co_await get_environment();
        const bool hopped = co_await hopper();
        const environment& now = co_await get_environment();
        const environment* const of_child = co_await child();
        co_return hopped && &own == &now&& of_child == &own&& pool.running_in_this_thread();
    };
    CHECK(sync_wait(pool.get_executor(), body, spawn_options().name("named")));
}

TEST_CASE("rule: an awaitable made on one executor and awaited on another resumes the awaiter where the "
          "awaiter runs") {
    thread_pool pool(1);
    thread_pool other(1);
    const auto here = [&pool]() -> coroutine<bool> {
        co_await yield();
        co_return pool.running_in_this_thread();
    };
    const auto makes = [&]() -> coroutine<coroutine<bool>> { co_return here(); };
    coroutine<bool> made = sync_wait(other.get_executor(), makes);
    CHECK(sync_wait(pool.get_executor(), [&] { return std::move(made); }));
}

TEST_CASE("yield goes behind what waits") {
    loop_context loop;
    std::string order;
    co_spawn(loop, [&]() -> coroutine<> {
        loop.get_executor().post([&] { order += "b"; });
        order += "a";
        co_await yield();
        order += "c";
    });
    loop.run();
    CHECK(order == "abc");
}

TEST_CASE("rule: fairness: a coroutine whose awaits are all ready at once lets a plain post through") {
    thread_pool pool(1);
    std::atomic<bool> has_run{false};
    const auto busy = [&]() -> coroutine<bool> {
        pool.get_executor().post_last([&] { has_run = true; });
        // A second of awaits is far more than a slice.
        for (int i = 0; i < 50'000'000 && !has_run; ++i) co_await number(1);
        co_return has_run;
    };
    CHECK(sync_wait(pool.get_executor(), busy));
    has_run = false;
    const auto ready = [&]() -> coroutine<bool> {
        pool.get_executor().post_last([&] { has_run = true; });
        for (int i = 0; i < 500'000'000 && !has_run; ++i) co_await std::suspend_never();
        co_return has_run;
    };
    CHECK(sync_wait(pool.get_executor(), ready));
}

TEST_CASE("a chain says who waits for what, from the root to the leaf, with lines") {
    promise<void> news;
    auto until = news.get_future();
    {
        thread_pool pool(1);
        constexpr int leaf_line = __LINE__ + 1;
        const auto leaf = [&]() -> coroutine<> { co_await std::move(until); };
        constexpr int middle_line = __LINE__ + 1;
        const auto middle = [&]() -> coroutine<> { co_await leaf(); };
        co_spawn(pool, [&] { return middle(); }, detached, spawn_options().name("reader"));
        pool.wait_idle();
        const std::string text = await_chains(pool);
        INFO(text);
        CHECK(text.find("reader: ") == 0);
        std::vector<std::string> lines;
        for (std::size_t at = 0; at < text.size(); at = text.find('\n', at) + 1)
            lines.push_back(text.substr(at, text.find('\n', at) - at));
        REQUIRE(lines.size() == 4); // the root, middle, leaf, an empty one
        const auto at_line = [](int n) { return "), at line " + std::to_string(n); };
        CHECK(lines[1].find("coroutine_test.cpp:") != std::string::npos);
        CHECK(lines[1].ends_with(at_line(middle_line)));
        CHECK(lines[2].ends_with(at_line(leaf_line)));
        pool.stop();
    }
    CHECK(!until.is_ready());
}

TEST_CASE("a chain shows a coroutine that awaits another request of its lanes during its turn") {
    thread_pool pool(1);
    const lanes<int> accounts(pool.get_executor());
    constexpr int line = __LINE__ + 2;
    const auto waits_forever = [&]() -> coroutine<> {
        co_await accounts.get_executor(1).submit([] {}); // the function runs after the turn
    };
    spawn_in_turn(accounts, 1, waits_forever);
    co_spawn(pool, [&]() -> coroutine<> { const auto turn = co_await async_turn(accounts, 1); });
    pool.wait_idle();
    const std::string text = await_chains(pool);
    INFO(text);
    const std::string during = ", during a turn\n";
    CHECK(text.find("), at line " + std::to_string(line) + during) != std::string::npos);
    std::size_t count = 0;
    for (std::size_t at = text.find(during); at != std::string::npos; at = text.find(during, at + 1)) ++count;
    CHECK(count == 2); // the request and its callable, but not the coroutine that waits for a turn
    pool.stop();
}

TEST_CASE("a coroutine that has hopped to an executor that takes no more is destroyed with those that wait") {
    std::atomic<int> ended{0};
    struct counts {
        std::atomic<int>& count;
        ~counts() { ++count; }
    };
    {
        thread_pool gone(1);
        gone.stop();
        thread_pool pool(1);
        const auto child = [&]() -> coroutine<> {
            const counts local{ended};
            co_await resume_on(gone);
            ended = 100;
        };
        co_spawn(pool, [&]() -> coroutine<> {
            const counts local{ended};
            co_await child();
            ended = 100;
        });
        pool.wait_idle();
        pool.stop();
    }
    CHECK(ended == 2);
}

namespace {

/// Whether the second await of `awaitable` ends the program with a message.
template <class Make>
bool is_awaited_once(Make make) {
    const auto result = ekiden_test::run_in_child([&make] {
        loop_context loop(1);
        co_spawn(loop, [&make]() -> coroutine<> {
            auto awaitable = make();
            co_await awaitable;
            co_await awaitable;
        });
        loop.run();
    });
    return result.signal == SIGABRT
           && result.error_output.find("this awaitable has been awaited before") != std::string::npos;
}

} // namespace

TEST_CASE("the second await of an awaitable ends the program with a message") {
    const auto f = []() -> coroutine<> { co_await yield(); };
    event is_set(true);
    CHECK(is_awaited_once([] { return sleep_for(std::chrono::milliseconds(1)); }));
    CHECK(is_awaited_once([&f] { return when_all(f, f); }));
    CHECK(is_awaited_once([&f] { return with_timeout(std::chrono::hours(1), f); }));
    CHECK(is_awaited_once([&f] { return shield(f); }));
    CHECK(is_awaited_once([&is_set] { return async_wait(is_set); }));
    CHECK(is_awaited_once([] { return yield(); }));
}
