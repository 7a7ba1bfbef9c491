// A context ends while coroutines wait: for each other, at the end of deep chains, for what others release.
#include "../effort.hpp"
#include "lock_support.hpp"
#include "run_coroutine.hpp"

#include <ekiden/async/async_event.hpp>
#include <ekiden/async/async_lock.hpp>
#include <ekiden/async/async_scope.hpp>
#include <ekiden/async/await_future.hpp>
#include <ekiden/async/co_spawn.hpp>
#include <ekiden/async/resume_on.hpp>
#include <ekiden/async/sleep.hpp>
#include <ekiden/async/when_all.hpp>
#include <ekiden/async/with_deadline.hpp>
#include <ekiden/async/yield.hpp>
#include <ekiden/loop/loop_context.hpp>
#include <ekiden/loop/loop_pool.hpp>
#include <ekiden/pool/thread_pool.hpp>
#include <ekiden/sync/counting_semaphore.hpp>
#include <ekiden/sync/event.hpp>
#include <ekiden/sync/fifo_mutex.hpp>
#include <ekiden/sync/mutex.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <coroutine>
#include <deque>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

using namespace ekiden;
using namespace std::chrono_literals;
using ekiden_test::until;
using ekiden_test::witness;

namespace {

/// Waits at the bottom of a chain of so many coroutines.
coroutine<> chain(int depth, event& e, std::atomic<int>& alive) {
    const witness local(alive);
    if (depth == 0)
        co_await async_wait(e);
    else
        co_await chain(depth - 1, e, alive);
}

/// A coroutine of another library, that begins at once and is destroyed by its owner.
class other_coroutine {
public:
    struct promise_type {
        other_coroutine get_return_object() noexcept {
            return other_coroutine(std::coroutine_handle<promise_type>::from_promise(*this));
        }
        static std::suspend_never initial_suspend() noexcept { return {}; }
        static std::suspend_always final_suspend() noexcept { return {}; }
        static void return_void() noexcept {}
        static void unhandled_exception() noexcept { std::terminate(); }
    };
    other_coroutine(other_coroutine&& other) noexcept : own_(std::exchange(other.own_, nullptr)) {}
    other_coroutine& operator=(other_coroutine&&) = delete;
    ~other_coroutine() {
        if (own_) own_.destroy();
    }

    // Is awaited as well, and never ends.
    static bool await_ready() noexcept { return false; }
    static void await_suspend(std::coroutine_handle<>) noexcept {}
    static void await_resume() noexcept {}

private:
    explicit other_coroutine(std::coroutine_handle<promise_type> own) noexcept : own_(own) {}
    std::coroutine_handle<promise_type> own_;
};

} // namespace

TEST_CASE("rule: a context is destroyed with a chain of 1e5 suspended coroutines, which takes no stack") {
    const int depth = 100'000;
    event never;
    std::atomic<int> alive{0};
    SUBCASE("of a root") {
        loop_context loop;
        co_spawn(loop, [&] { return chain(depth, never, alive); });
        loop.poll();
        CHECK(alive == depth + 1);
    }
    SUBCASE("of a pool") {
        thread_pool pool(1);
        co_spawn(pool, [&] { return chain(depth, never, alive); });
        pool.wait_idle();
        CHECK(alive == depth + 1);
        pool.stop();
    }
    SUBCASE("of a member of a group") {
        loop_context loop;
        co_spawn(loop, [&]() -> coroutine<> {
            co_await when_all(chain(depth, never, alive), chain(depth, never, alive));
        });
        loop.poll();
        CHECK(alive == 2 * depth + 2);
    }
    SUBCASE("of a child of a scope") {
        loop_context loop;
        co_spawn(loop, [&]() -> coroutine<> {
            const auto body = [&](async_scope& scope) -> coroutine<> {
                (void)scope.spawn([&] { return chain(depth, never, alive); });
                co_await chain(depth, never, alive);
            };
            co_await with_scope(body);
        });
        loop.poll();
        CHECK(alive == 2 * depth + 2);
    }
    SUBCASE("above a coroutine of another library, and below it") {
        struct both {
            static other_coroutine foreign(event& e, std::atomic<int>& alive) {
                co_await chain(depth, e, alive);
            }
            static coroutine<> above(int n, event& e, std::atomic<int>& alive) {
                const witness local(alive);
                if (n == 0)
                    co_await foreign(e, alive);
                else
                    co_await above(n - 1, e, alive);
            }
        };
        loop_context loop;
        co_spawn(loop, [&] { return both::above(depth, never, alive); });
        loop.poll();
        CHECK(alive == 2 * depth + 2);
    }
    CHECK(alive == 0);
}

TEST_CASE("rule: a chain is destroyed from its end, each frame before what it refers to in the one above") {
    struct seen {
        std::vector<int>* order;
        int number;
        seen(std::vector<int>& o, int n) : order(&o), number(n) {}
        ~seen() { order->push_back(number); }
        seen(const seen&) = delete;
        seen& operator=(const seen&) = delete;
    };
    struct level {
        static coroutine<> go(int n, event& e, std::vector<int>& order) {
            const seen local(order, n);
            if (n == 0)
                co_await async_wait(e);
            else
                co_await go(n - 1, e, order);
        }
    };
    event never;
    std::vector<int> order;
    {
        loop_context loop;
        co_spawn(loop, [&] { return level::go(4, never, order); });
        loop.poll();
    }
    CHECK(order == std::vector<int>{0, 1, 2, 3, 4});
}

// ---- coroutines that wait for each other: the end of one sends another one home, which is no more

TEST_CASE("rule: a context is destroyed with coroutines that wait for what others of it hold") {
    std::atomic<int> alive{0};
    std::atomic<int> resumed{0};
    for (int round = 0; round != ekiden_test::rounds(200); ++round) {
        fifo_mutex m;
        constexpr int n = 20;
        int asked = 0;
        std::deque<promise<void>> promises(n);
        event never;
        {
            loop_context loop;
            // Each gets the lock from the end of the one before it, or is destroyed first: the context's
            // order is its own. Likewise the futures.
            for (int i = 0; i != n; ++i) {
                co_spawn(loop, [&]() -> coroutine<> {
                    const witness local(alive);
                    ++asked;
                    const auto guard = co_await async_lock(m);
                    co_await async_wait(never);
                    ++resumed;
                });
                co_spawn(loop, [&, i]() -> coroutine<> {
                    struct fulfils {
                        promise<void>& p;
                        ~fulfils() { p.set_value(); }
                    };
                    const fulfils at_end{promises[static_cast<std::size_t>(i)]};
                    const witness local(alive);
                    ++asked;
                    if (i == 0)
                        co_await async_wait(never);
                    else
                        co_await promises[static_cast<std::size_t>(i - 1)].get_future();
                    ++resumed;
                });
            }
            loop.poll();
            REQUIRE(asked == 2 * n);
        }
        REQUIRE(alive == 0);
        REQUIRE(m.try_lock());
        m.unlock();
    }
    CHECK(resumed == 0);
}

TEST_CASE(
    "rule: a context is destroyed with parents and children that wait: a parent that is dropped with its "
    "last child ends once") {
    std::atomic<int> alive{0};
    std::atomic<int> resumed{0};
    for (int round = 0; round != ekiden_test::rounds(200); ++round) {
        event never;
        event other;
        std::vector<future<void>> results;
        int asked = 0;
        const auto waits = [&]() -> coroutine<> {
            const witness local(alive);
            ++asked;
            co_await async_wait(never);
            ++resumed;
        };
        const auto group = [&]() -> coroutine<> {
            const witness local(alive);
            co_await when_all(waits, waits);
            ++resumed;
        };
        const auto scope = [&]() -> coroutine<> {
            const witness local(alive);
            const auto body = [&](async_scope& s) -> coroutine<> {
                const witness own(alive);
                for (int i = 0; i != 3; ++i) (void)s.spawn(group);
                co_await with_timeout(24h, group);
            };
            co_await with_scope(body);
            ++resumed;
        };
        {
            loop_context loop;
            for (int i = 0; i != 5; ++i) {
                results.push_back(ekiden_test::begin_on(loop.get_executor(), group));
                results.push_back(ekiden_test::begin_on(loop.get_executor(), scope));
                results.push_back(ekiden_test::begin_on(loop.get_executor(), [&] { return shield(scope); }));
            }
            // A parent that waits for the future of another root, whose end breaks the promise.
            for (int i = 0; i != 5; ++i) {
                results.push_back(ekiden_test::begin_on(loop.get_executor(), [&]() -> coroutine<> {
                    const witness local(alive);
                    auto child = co_spawn(loop, waits, use_future);
                    co_await std::move(child);
                    ++resumed;
                }));
            }
            loop.poll();
            REQUIRE(asked == 5 * 2 + 2 * 5 * 8 + 5);
        }
        REQUIRE(alive == 0);
        for (auto& each : results) CHECK_THROWS_AS(each.get(), std::future_error);
    }
    CHECK(resumed == 0);
}

TEST_CASE(
    "rule: a context is destroyed with members of one group, and children of one scope, that wait for what "
    "others of it hold") {
    std::atomic<int> alive{0};
    std::atomic<int> resumed{0};
    for (int round = 0; round != ekiden_test::rounds(200); ++round) {
        fifo_mutex first;
        fifo_mutex second;
        int asked = 0;
        // Each has one lock and waits for the other one, which it gets as a frame ends; in either order.
        const auto holds_and_waits = [&](fifo_mutex& own, fifo_mutex& other) {
            return [&]() -> coroutine<> {
                const witness local(alive);
                const auto mine = co_await async_lock(own);
                co_await yield();
                ++asked;
                const auto both = co_await async_lock(other);
                ++resumed;
            };
        };
        auto one = holds_and_waits(first, second);
        auto two = holds_and_waits(second, first);
        {
            loop_context loop;
            const bool by_group = round % 2 == 0;
            co_spawn(loop, [&]() -> coroutine<> {
                const witness local(alive);
                if (by_group) {
                    co_await when_all(one, two);
                } else {
                    const auto body = [&](async_scope& scope) -> coroutine<> {
                        (void)scope.spawn(one);
                        (void)scope.spawn(two);
                        const witness own(alive);
                        while (asked != 2) co_await yield();
                        const auto mine = co_await async_lock(first);
                        ++resumed;
                    };
                    co_await with_scope(body);
                }
                ++resumed;
            });
            loop.poll();
            REQUIRE(asked == 2);
        }
        REQUIRE(alive == 0);
        REQUIRE(first.try_lock());
        REQUIRE(second.try_lock());
        first.unlock();
        second.unlock();
    }
    CHECK(resumed == 0);
}

TEST_CASE("rule: a context that drops a queued coroutine, whose end sends others home, destroys each once") {
    std::atomic<int> alive{0};
    std::atomic<int> resumed{0};
    for (int round = 0; round != ekiden_test::rounds(200); ++round) {
        fifo_mutex m;
        event also_held;
        int asked = 0;
        const auto waits_for_lock = [&]() -> coroutine<> {
            const witness local(alive);
            ++asked;
            const auto guard = co_await async_lock(m);
            ++resumed;
        };
        const auto waits_for_event = [&]() -> coroutine<> {
            const witness local(alive);
            ++asked;
            co_await async_wait(also_held);
            ++resumed;
        };
        {
            loop_context loop;
            co_spawn(loop, [&]() -> coroutine<> {
                struct sets {
                    event& e;
                    ~sets() { e.set(); }
                };
                const sets at_end{also_held};
                const auto guard = co_await async_lock(m);
                const witness local(alive);
                ++asked;
                for (;;) co_await yield(); // is queued when the loop ends
            });
            co_spawn(loop, [&]() -> coroutine<> { // owner and child of a scope, sent home together
                const auto body = [&](async_scope& scope) -> coroutine<> {
                    (void)scope.spawn(waits_for_event);
                    (void)scope.spawn(waits_for_lock);
                    co_await waits_for_event();
                };
                const witness local(alive);
                co_await with_scope(body);
            });
            co_spawn(loop, [&]() -> coroutine<> {
                const witness local(alive);
                co_await when_all(waits_for_event, waits_for_lock, waits_for_event);
            });
            while (asked != 7) (void)loop.run_one();
        }
        REQUIRE(alive == 0);
        REQUIRE(m.try_lock());
        m.unlock();
    }
    CHECK(resumed == 0);
}

// ---- who releases what coroutines of a context wait for, as the context ends: see
// src/ekiden/async/detail/locks.md

TEST_CASE("rule: what a thread has released before a context ends is delivered, or goes to the next") {
    for (int round = 0; round != ekiden_test::rounds(300); ++round) {
        constexpr int n = 10;
        std::atomic<int> alive{0};
        std::atomic<int> held{0};
        std::atomic<int> asked{0};
        fifo_mutex m;
        counting_semaphore<> permits(0);
        event e;
        int taken = 0;
        std::atomic<int> got{0};
        {
            thread_pool pool(2);
            detail::lock_access::core(m).enter(mutex_base::free); // as async_lock() does it
            const auto body = [&]() -> coroutine<> {
                const witness local(alive);
                ++asked;
                (co_await async_lock(m)).unlock();
                ++held;
                co_await async_acquire(permits);
                ++got;
                co_await async_wait(e);
            };
            for (int i = 0; i != n; ++i) co_spawn(pool, body);
            until([&] { return asked == n; });
            std::thread foreign([&] { // has released before the context begins to end
                async_unlock(m);
                permits.release(n / 2);
            });
            foreign.join();
            pool.stop(); // drops some that are on their way home
        }
        REQUIRE(alive == 0);
        REQUIRE(m.try_lock());
        m.unlock();
        while (permits.try_acquire()) ++taken;
        REQUIRE(taken + got == n / 2); // what nobody got, is there
        REQUIRE(held <= n);
    }
}

TEST_CASE("rule: threads of a context may release what its coroutines wait for while it stops and ends") {
    for (int round = 0; round != ekiden_test::rounds(1000); ++round) {
        constexpr int n = 10;
        std::atomic<int> alive{0};
        std::atomic<int> asked{0};
        std::atomic<int> got{0};
        fifo_mutex m;
        counting_semaphore<> permits(0);
        int released = 0;
        detail::lock_access::core(m).enter(mutex_base::free);
        {
            thread_pool pool(2);
            const auto body = [&]() -> coroutine<> {
                const witness local(alive);
                ++asked;
                const auto guard = co_await async_lock(m);
                co_await async_acquire(permits);
                ++got;
            };
            for (int i = 0; i != n; ++i) co_spawn(pool, body);
            until([&] { return asked == n; });
            std::atomic<bool> has_begun{false};
            pool.post([&] {
                has_begun = true;
                async_unlock(m); // as a coroutine would
                for (; released != n / 2; ++released) permits.release();
            });
            until([&] { return has_begun.load(); });
            pool.stop();
        }
        REQUIRE(alive == 0);
        REQUIRE(released == n / 2);
        REQUIRE(m.try_lock());
        m.unlock();
        int left = 0;
        while (permits.try_acquire()) ++left;
        REQUIRE(left + got == n / 2);
    }
}

TEST_CASE(
    "rule: a root that ends on another thread has left its context when the last work of that is finished") {
    // on_work_finished() returns when the context has been destroyed.
    struct waits_for_the_end : loop_context::executor_type {
        waits_for_the_end(loop_context& of, std::atomic<int>& s)
            : loop_context::executor_type(of.get_executor()), step(&s) {}
        void on_work_finished() const noexcept {
            loop_context::executor_type::on_work_finished();
            *step = 1;
            until([this] { return *step == 2; });
        }
        std::atomic<int>* step;
    };
    std::atomic<int> step{0};
    std::atomic<int> alive{0};
    thread_pool pool(1);
    {
        std::optional<loop_context> loop(std::in_place);
        // The root itself hops: no other coroutine is there.
        const auto hops = [&pool, kept = witness(alive)] { return resume_on(pool); };
        bool is_dropped = false;
        SUBCASE("by itself") {}
        SUBCASE("dropped there") { is_dropped = true; }
        if (is_dropped) pool.pause();
        co_spawn(waits_for_the_end(*loop, step), hops);
        loop->poll();
        if (is_dropped) pool.stop();
        until([&] { return step == 1; });
        CHECK(alive == 1); // nothing but `hops` is left
        loop->run();
        loop.reset();
        step = 2;
    }
    pool.wait_idle();
    CHECK(alive == 0);
}

namespace {

/// A service that is destroyed with its context.
struct seen_service : execution_context::service {
    explicit seen_service(execution_context& of) : service(of) { ++living; }
    ~seen_service() override { --living; }
    static inline std::atomic<int> living{0};
};

} // namespace

TEST_CASE("A pool of loops ends while coroutines have moved to other loops, and use them in destructors") {
    struct posts_at_end {
        loop_pool::executor_type to;
        std::atomic<int>& ends;
        ~posts_at_end() {
            CHECK(has_service<seen_service>(to.context()));
            CHECK(seen_service::living == 1);
            to.post([] { FAIL("the loop has ended"); });
            ++ends;
        }
    };
    event never;
    ekiden::mutex lock;
    std::atomic<int> begun{0};
    std::atomic<int> ends{0};
    std::atomic<int> alive{0};
    {
        loop_pool pool({.threads = 2});
        use_service<seen_service>(pool.get_executor(0).context());
        const auto holds = [&]() -> coroutine<> {
            const witness local(alive);
            const posts_at_end last{pool.get_executor(0), ends};
            co_await resume_on(pool.get_executor(0));
            const auto guard = co_await async_lock(lock);
            ++begun;
            co_await async_wait(never);
        };
        const auto wants = [&]() -> coroutine<> {
            const witness local(alive);
            co_await resume_on(pool.get_executor(0));
            ++begun;
            const auto guard = co_await async_lock(lock);
        };
        co_spawn(pool.get_executor(1), holds);
        until([&] { return begun == 1; });
        for (int i = 0; i != 8; ++i) co_spawn(pool.get_executor(1), wants);
        until([&] { return begun == 9; });
        pool.get_executor(0).submit([] {}).get(); // the last coroutine waits now
        pool.stop();
    }
    CHECK(ends == 1);
    CHECK(alive == 0);
}
