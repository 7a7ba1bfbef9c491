#include <ekiden/async/await_future.hpp>
#include <ekiden/async/co_spawn.hpp>
#include <ekiden/async/coroutine.hpp>
#include <ekiden/async/get_environment.hpp>
#include <ekiden/async/resume_on.hpp>
#include <ekiden/async/sync_wait.hpp>
#include <ekiden/async/use_awaitable.hpp>
#include <ekiden/async/yield.hpp>
#include <ekiden/execution/bind_executor.hpp>
#include <ekiden/execution/post.hpp>
#include <ekiden/execution/strand.hpp>
#include <ekiden/execution/work_guard.hpp>
#include <ekiden/loop/loop_context.hpp>
#include <ekiden/pool/thread_pool.hpp>
#include <ekiden/sync/event.hpp>
#include <ekiden/sync/latch.hpp>
#include <ekiden/timer/steady_timer.hpp>

#include "../child_process.hpp"
#include <tests/unit/posix.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using namespace ekiden;
using ekiden_test::run_in_child;

namespace {

/// Counts objects that live.
struct counted {
    explicit counted(std::atomic<int>& living) : living_(&living) { ++*living_; }
    counted(const counted& other) : living_(other.living_) { ++*living_; }
    counted& operator=(const counted&) = delete;
    ~counted() { --*living_; }

private:
    std::atomic<int>* living_;
};

/// One whose end could touch its context, as far as the library knows. Counts those that live.
class mortal_executor : public system_executor {
public:
    explicit mortal_executor(std::atomic<int>& living) noexcept : living_(&living) { ++*living_; }
    mortal_executor(const mortal_executor& other) noexcept : system_executor(other), living_(other.living_) {
        ++*living_;
    }
    mortal_executor& operator=(const mortal_executor&) = delete;
    ~mortal_executor() { --*living_; }
    friend bool operator==(const mortal_executor&, const mortal_executor&) noexcept { return true; }

private:
    std::atomic<int>* living_;
};

coroutine<int> fails() {
    throw std::out_of_range("too far");
    co_return 1;
}

} // namespace

TEST_CASE("co_spawn gives the result, or the exception with its type, to a future") {
    thread_pool pool(1);
    CHECK(co_spawn(pool, []() -> coroutine<int> { co_return 3; }, use_future).get() == 3);
    co_spawn(pool, []() -> coroutine<void> { co_return; }, use_future).get();
    auto failed = co_spawn(pool, [] { return fails(); }, use_future);
    CHECK_THROWS_AS(failed.get(), std::out_of_range);
}

TEST_CASE("co_spawn calls a handler: with a value, a pointer for a reference, an optional for what has no "
          "default") {
    struct no_default {
        explicit no_default(int given) : n(given) {}
        int n;
    };
    loop_context loop;
    int object = 7;
    std::string seen;
    co_spawn(
        loop, []() -> coroutine<int> { co_return 3; },
        [&](std::exception_ptr error, int n) { seen += error ? "x" : std::to_string(n); });
    co_spawn(
        loop, [&object]() -> coroutine<int&> { co_return object; },
        [&](std::exception_ptr, int* n) { seen += n == &object ? "r" : "x"; });
    co_spawn(
        loop, []() -> coroutine<no_default> { co_return no_default(5); },
        [&](std::exception_ptr, std::optional<no_default> n) {
            seen += n.has_value() ? std::to_string(n->n) : "x";
        });
    co_spawn(
        loop, []() -> coroutine<> { co_return; },
        [&](std::exception_ptr error) { seen += error ? "x" : "v"; });
    co_spawn(
        loop, [] { return fails(); },
        [&](std::exception_ptr error, int n) { seen += error && n == 0 ? "e" : "x"; });
    loop.run();
    CHECK(seen == "3r5ve");
}

TEST_CASE("a handler that is bound to an executor is called there") {
    thread_pool pool(1);
    loop_context loop;
    const auto here = std::this_thread::get_id();
    std::thread::id called;
    co_spawn(
        pool, []() -> coroutine<> { co_return; },
        bind_executor(loop.get_executor(), [&](std::exception_ptr) { called = std::this_thread::get_id(); }));
    const auto work = executor_work_guard(loop.get_executor());
    while (called == std::thread::id()) loop.run_one();
    CHECK(called == here);
}

TEST_CASE("the callable is kept until its coroutine has ended, so that a lambda with captures can be one") {
    std::atomic<int> living{0};
    thread_pool pool(1);
    {
        const auto text = std::make_shared<std::string>("a text that is longer than a small string");
        auto body = [text, alive = counted(living)]() -> coroutine<std::size_t> {
            co_await yield();
            co_return text->size();
        };
        auto size = co_spawn(pool, std::move(body), use_future);
        CHECK(size.get() == text->size());
    }
    pool.wait_idle();
    CHECK(living == 0);
}

TEST_CASE("rule: an exception of a detached coroutine reaches the handler of the pool once") {
    std::atomic<int> reported{0};
    std::string what;
    {
        thread_pool pool(
            {.threads = 1, .on_unhandled_exception = [&](std::exception_ptr error, std::string_view) {
                 ++reported;
                 try {
                     std::rethrow_exception(error);
                 } catch (const std::out_of_range& caught) {
                     what = caught.what();
                 }
             }});
        co_spawn(pool, [] { return fails(); });
        pool.join();
    }
    CHECK(reported == 1);
    CHECK(what == "too far");
}

TEST_CASE("rule: that a detached coroutine was stopped is no error") {
    std::atomic<int> reported{0};
    std::stop_source source;
    {
        thread_pool pool({.threads = 1, .on_unhandled_exception = [&](std::exception_ptr, std::string_view) {
                              ++reported;
                          }});
        promise<int> never;
        latch waits(1);
        co_spawn(
            pool,
            [&]() -> coroutine<> {
                auto result = never.get_future();
                waits.count_down();
                co_await std::move(result);
            },
            detached, spawn_options().stop(source.get_token()));
        waits.wait();
        source.request_stop();
        pool.join();
    }
    CHECK(reported == 0);
}

TEST_CASE("a stop of the token reaches a coroutine before it begins, and none after it has ended") {
    thread_pool pool(1);
    std::stop_source before;
    before.request_stop();
    std::stop_source queued;
    std::stop_source after;
    const auto is_stopped = [](bool& found) -> coroutine<> {
        const environment& env = co_await get_environment();
        found = env.stop != nullptr && env.stop->stop_requested();
    };
    bool was_stopped[3] = {false, false, true};
    pool.pause();
    auto first =
        co_spawn(pool, is_stopped(was_stopped[0]), use_future, spawn_options().stop(before.get_token()));
    auto second =
        co_spawn(pool, is_stopped(was_stopped[1]), use_future, spawn_options().stop(queued.get_token()));
    auto third =
        co_spawn(pool, is_stopped(was_stopped[2]), use_future, spawn_options().stop(after.get_token()));
    queued.request_stop();
    pool.resume();
    first.get();
    second.get();
    third.get();
    pool.wait_idle();
    after.request_stop();
    CHECK(was_stopped[0]);
    CHECK(was_stopped[1]);
    CHECK_FALSE(was_stopped[2]);
}

TEST_CASE("a stop of the token races with the end of the coroutine") {
    thread_pool pool(2);
    for (int i = 0; i < 500; ++i) {
        std::stop_source source;
        std::atomic<bool> begun{false};
        auto end = co_spawn(
            pool,
            [&]() -> coroutine<> {
                begun = true;
                co_await yield();
            },
            use_future, spawn_options().stop(source.get_token()));
        while (!begun) std::this_thread::yield();
        source.request_stop();
        end.get();
    }
}

TEST_CASE("rule: co_spawn from a thread of no context and from a destructor of a thread_local object") {
    EKIDEN_SKIP_WITH_GCC_ON_WINDOWS("frees thread_local objects before it destroys them");
    thread_pool pool(1);
    std::atomic<int> ran{0};
    static thread_pool* target;
    static std::atomic<int>* counter;
    target = &pool;
    counter = &ran;
    struct at_end {
        ~at_end() {
            co_spawn(*target, []() -> coroutine<> {
                co_await yield();
                ++*counter;
            });
        }
        int touched = 0;
    };
    std::thread([] {
        thread_local at_end last;
        last.touched = 1;
    }).join();
    std::thread([&pool] {
        co_spawn(pool, []() -> coroutine<> {
            ++*counter;
            co_return;
        });
    }).join();
    pool.join();
    CHECK(ran == 2);
}

TEST_CASE("rule: co_spawn on the pool of the parent throws in a forked child, and leaves nothing behind") {
    EKIDEN_SKIP_ON_WINDOWS("there is no fork()");
    if (!ekiden_test::can_child_start_threads()) return;
    thread_pool pool(1);
    std::atomic<int> living{0};
    const auto child = run_in_child([&] {
        try {
            co_spawn(pool, [alive = counted(living)]() -> coroutine<> { co_return; });
        } catch (const std::system_error& error) {
            ::_exit(error.code() == std::errc::operation_not_permitted && living == 0 ? 7 : 1);
        }
        ::_exit(2);
    });
    CHECK(child.exit_code == 7);
#if !defined(EKIDEN_TSAN) // which has no threads in such a child
    const auto other = run_in_child([] { ::_exit(sync_wait([]() -> coroutine<int> { co_return 9; })); });
    CHECK(other.exit_code == 9);
#endif
}

TEST_CASE("co_spawn on a pool that takes no more destroys the coroutine at once") {
    std::atomic<int> living{0};
    thread_pool pool(1);
    pool.stop();
    auto result = co_spawn(pool, [alive = counted(living)]() -> coroutine<> { co_return; }, use_future);
    CHECK(living == 0);
    CHECK_THROWS_AS(result.get(), operation_canceled);
}

TEST_CASE("rule: executor gone first: the frames of 10^4 suspended coroutines are destroyed once, and none "
          "is resumed") {
    std::atomic<int> living{0};
    std::atomic<int> resumed{0};
    constexpr int many = 10'000;
    std::vector<promise<void>> never(many);
    {
        latch waiting(many);
        const auto inner = [&](future<void> result) -> coroutine<> {
            const counted local(living);
            waiting.count_down();
            co_await std::move(result);
            ++resumed;
        };
        thread_pool pool(2); // ends first: its threads may still be in there
        for (auto& each : never) {
            co_spawn(pool, [&]() -> coroutine<> {
                const counted local(living);
                co_await inner(each.get_future());
                ++resumed;
            });
        }
        waiting.wait();
        pool.stop();
    }
    CHECK(living == 0);
    for (auto& each : never) each.set_value();
    CHECK(resumed == 0);
}

TEST_CASE("a coroutine that comes home to a pool that has stopped is destroyed with those that wait for it") {
    std::atomic<int> living{0};
    std::atomic<int> resumed{0};
    {
        promise<void> news;
        auto result = news.get_future();
        thread_pool pool(1);
        latch waiting(1);
        co_spawn(pool, [&]() -> coroutine<> {
            const counted outer(living);
            auto body = [&]() -> coroutine<> {
                const counted local(living);
                waiting.count_down();
                co_await std::move(result);
                ++resumed;
            };
            co_await body();
            ++resumed;
        });
        waiting.wait();
        pool.wait_idle();
        pool.stop();
        news.set_value(); // refused
    }
    CHECK(living == 0);
    CHECK(resumed == 0);
}

TEST_CASE("a chain of a hundred thousand suspended coroutines that is abandoned takes no stack") {
    struct chain {
        static coroutine<> go(int depth, future<void>& until, std::atomic<int>& living) {
            const counted local(living);
            if (depth == 0)
                co_await std::move(until);
            else
                co_await go(depth - 1, until, living);
        }
    };
    std::atomic<int> living{0};
    promise<void> news;
    auto result = news.get_future();
    {
        thread_pool pool(1);
        co_spawn(pool, [&] { return chain::go(100'000, result, living); });
        pool.wait_idle();
        CHECK(living == 100'001);
        pool.stop();
        news.set_value();
    }
    CHECK(living == 0);
}

TEST_CASE("a future is awaited, ready or not, and its failure is thrown") {
    thread_pool pool(2);
    promise<int> late;
    auto result = late.get_future();
    auto sum = co_spawn(
        pool,
        [&]() -> coroutine<int> {
            promise<int> early;
            early.set_value(1);
            const int first = co_await early.get_future();
            const int second = co_await std::move(result);
            const int third = co_await pool.submit([] { return 100; });
            co_return first + second + third;
        },
        use_future);
    late.set_value(10);
    CHECK(sum.get() == 111);
    auto failed = co_spawn(
        pool,
        [&]() -> coroutine<int> {
            co_return co_await pool.submit([]() -> int { throw std::out_of_range("no"); });
        },
        use_future);
    CHECK_THROWS_AS(failed.get(), std::out_of_range);
}

TEST_CASE("a stop takes a coroutine out of its wait for a future, which stays as it is") {
    thread_pool pool(2);
    for (int i = 0; i < 200; ++i) {
        promise<int> news;
        auto result = news.get_future();
        std::stop_source source;
        auto ended = co_spawn(
            pool,
            [&result]() -> coroutine<int> {
                try {
                    co_return co_await std::move(result);
                } catch (const operation_canceled&) {
                }
                co_return -1;
            },
            use_future, spawn_options().stop(source.get_token()));
        std::thread stopper([&] { source.request_stop(); });
        if (i % 2 == 0) news.set_value(5);
        const int got = ended.get();
        stopper.join();
        if (i % 2 != 0) news.set_value(5);
        CHECK((got == -1 || got == 5));
        if (got == -1)
            CHECK(result.get() == 5);
        else
            CHECK(!result.valid());
    }
}

TEST_CASE("use_awaitable: timers and post are awaited, and the coroutine comes home") {
    thread_pool pool(1);
    strand<thread_pool::executor_type> home(pool.get_executor());
    loop_context loop;
    std::thread runner([&, work = executor_work_guard(loop.get_executor())] { loop.run(); });
    auto seen = co_spawn(
        home,
        [&]() -> coroutine<bool> {
            bool is_home = home.running_in_this_thread();
            steady_timer timer(pool, std::chrono::milliseconds(1));
            co_await timer.async_wait(use_awaitable);
            is_home = is_home && home.running_in_this_thread();
            co_await post(loop, use_awaitable);
            co_return is_home&& home.running_in_this_thread();
        },
        use_future);
    CHECK(seen.get());
    loop.stop();
    runner.join();
}

TEST_CASE("use_awaitable: a canceled timer throws, or says so in a tuple") {
    thread_pool pool(1); // what is posted runs when the coroutine waits
    const auto in_tuple = [&]() -> coroutine<bool> {
        steady_timer timer(pool, std::chrono::hours(1));
        pool.post([&timer] { timer.cancel(); });
        const auto [error] = co_await timer.async_wait(use_awaitable.as_tuple);
        co_return error == std::errc::operation_canceled;
    };
    CHECK(co_spawn(pool, in_tuple, use_future).get());
    const auto thrown = [&]() -> coroutine<> {
        steady_timer timer(pool, std::chrono::hours(1));
        pool.post([&timer] { timer.cancel(); });
        co_await timer.async_wait(use_awaitable);
    };
    auto failed = co_spawn(pool, thrown, use_future);
    CHECK_THROWS_AS(failed.get(), std::system_error);
}

TEST_CASE("use_awaitable: an operation begun after a stop does not start, and one that runs delivers") {
    loop_context loop;
    std::stop_source source;
    int seen = 0;
    const auto body = [&]() -> coroutine<> {
        steady_timer timer(loop, std::chrono::milliseconds(0));
        loop.get_executor().post([&source] { source.request_stop(); }); // before the loop looks at its timers
        co_await timer.async_wait(use_awaitable);
        seen = source.stop_requested() ? 1 : -1;
        try {
            co_await timer.async_wait(use_awaitable);
        } catch (const operation_canceled&) {
            seen *= 2;
        }
    };
    co_spawn(loop, body, detached, spawn_options().stop(source.get_token()));
    loop.run();
    CHECK(seen == 2);
}

TEST_CASE("use_awaitable: an operation whose handler is dropped destroys the coroutine") {
    std::atomic<int> living{0};
    {
        loop_context loop;
        const auto body = [&]() -> coroutine<> {
            const counted local(living);
            steady_timer timer(loop, std::chrono::hours(1));
            co_await timer.async_wait(use_awaitable);
        };
        co_spawn(loop, body);
        loop.poll();
        CHECK(living == 1);
    }
    CHECK(living == 0);
}

TEST_CASE("resume_on: the coroutine is at home there from then on, and its parent where it was") {
    thread_pool pool(2);
    strand<thread_pool::executor_type> one(pool.get_executor());
    strand<thread_pool::executor_type> other(pool.get_executor());
    auto right = co_spawn(
        one,
        [&]() -> coroutine<bool> {
            const auto child = [&]() -> coroutine<bool> {
                co_await resume_on(other);
                const bool hopped = other.running_in_this_thread() && !one.running_in_this_thread();
                co_await post(pool, use_awaitable);
                co_return hopped&& other.running_in_this_thread();
            };
            const bool was_right = co_await child();
            co_return was_right&& one.running_in_this_thread() && !other.running_in_this_thread();
        },
        use_future);
    CHECK(right.get());
}

TEST_CASE("resume_on: a coroutine that hops to and fro is at each place in its turn") {
    using on_pool = strand<thread_pool::executor_type>;
    thread_pool pool(2);
    const std::vector<on_pool> strands{on_pool(pool.get_executor()), on_pool(pool.get_executor()),
                                       on_pool(pool.get_executor())};
    const auto traveller = [&]() -> coroutine<int> {
        int lost = 0;
        const auto look = [&](std::size_t where) {
            for (std::size_t i = 0; i != strands.size(); ++i)
                lost += strands[i].running_in_this_thread() != (i == where) ? 1 : 0;
        };
        const std::vector<std::size_t> way{0, 1, 0, 1, 2, 1, 1, 3, 1, 3, 0, 2, 3, 2, 0};
        for (int round = 0; round != 20; ++round) {
            for (const std::size_t where : way) {
                if (where < strands.size())
                    co_await resume_on(strands[where]);
                else
                    co_await resume_on(pool.get_executor());
                look(where);
                co_await yield();
                look(where);
            }
        }
        co_return lost;
    };
    std::vector<future<int>> lost;
    for (int i = 0; i != 8; ++i) lost.push_back(co_spawn(pool, traveller(), use_future));
    for (auto& each : lost) CHECK(each.get() == 0);
}

TEST_CASE("resume_on: an executor whose end could touch its context is not kept after the hop away") {
    thread_pool pool(1);
    std::atomic<int> living{0};
    auto found = co_spawn(
        pool,
        [&]() -> coroutine<std::pair<int, int>> {
            co_await resume_on(mortal_executor(living));
            const int there = living;
            co_await resume_on(pool);
            co_return std::pair(there, living.load());
        },
        use_future);
    CHECK(found.get() == std::pair(1, 0));
    CHECK(living == 0);
}

TEST_CASE("rule: sync_wait on a pool of one thread, nested three deep, ends") {
    thread_pool pool(1);
    const auto leaf = []() -> coroutine<int> {
        co_await yield();
        co_return 1;
    };
    const auto nested = [&leaf](auto& self, int depth) -> coroutine<int> {
        if (depth == 0) {
            const int n = co_await leaf();
            co_return n;
        }
        co_return 1 + sync_wait([&] { return self(self, depth - 1); });
    };
    CHECK(sync_wait(pool.get_executor(), [&] { return nested(nested, 3); }) == 4);
    CHECK(sync_wait(leaf) == 1);
    CHECK_THROWS_AS(sync_wait([] { return fails(); }), std::out_of_range);
}

TEST_CASE("rule: sync_wait in a function of a strand is refused with a message") {
    thread_pool pool(1);
    strand<thread_pool::executor_type> serial(pool.get_executor());
    auto refused = serial.submit([] { return sync_wait([]() -> coroutine<int> { co_return 1; }); });
    std::string message;
    try {
        refused.get();
    } catch (const std::system_error& error) {
        CHECK(error.code() == std::errc::resource_deadlock_would_occur);
        message = error.what();
    }
    CHECK(message.find("sync_wait: called in a function of a strand or a lane") != std::string::npos);
}
