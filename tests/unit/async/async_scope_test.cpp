// async_scope: children, waits, errors, stops, and who may go when.
#include "../child_process.hpp"
#include "../effort.hpp"
#include "run_coroutine.hpp"

#include <ekiden/async/async_event.hpp>
#include <ekiden/async/async_scope.hpp>
#include <ekiden/async/co_spawn.hpp>
#include <ekiden/async/resume_on.hpp>
#include <ekiden/async/sleep.hpp>
#include <ekiden/async/when_all.hpp>
#include <ekiden/async/with_deadline.hpp>
#include <ekiden/execution/strand.hpp>
#include <ekiden/loop/loop_context.hpp>
#include <ekiden/pool/thread_pool.hpp>
#include <ekiden/sync/event.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace {

using namespace ekiden;
using namespace ekiden_test;
using namespace std::chrono_literals;

} // namespace

TEST_CASE("wait() of a scope waits for all children, and what they have done is visible") {
    thread_pool pool(2);
    run_on(pool.get_executor(), []() -> coroutine<> {
        std::vector<int> done(10);
        const environment& env = co_await get_environment();
        async_scope scope(env);
        for (int i = 0; i != 10; ++i) {
            const auto child = [&done, i]() -> coroutine<> {
                co_await sleep_for(std::chrono::microseconds(100 * (i % 3)));
                done[static_cast<std::size_t>(i)] = i;
            };
            CHECK(scope.spawn(child));
        }
        co_await scope.wait();
        CHECK(scope.size() == 0);
        for (int i = 0; i != 10; ++i) CHECK(done[static_cast<std::size_t>(i)] == i);
        const auto late = []() -> coroutine<> { co_return; };
        CHECK_FALSE(scope.spawn(late)); // closed
        co_await scope.wait();          // again: at once
    });
}

TEST_CASE("spawn after close is refused and says so, and nothing has happened then") {
    thread_pool pool(1);
    bool has_begun = false;
    run_on(pool.get_executor(), [&]() -> coroutine<> {
        const environment& env = co_await get_environment();
        async_scope scope(env);
        scope.close();
        const auto child = [&]() -> coroutine<> {
            has_begun = true;
            co_return;
        };
        CHECK_FALSE(scope.spawn(child));
        CHECK(scope.size() == 0);
    });
    CHECK_FALSE(has_begun);
}

TEST_CASE("children may spawn others while the scope is waited for") {
    thread_pool pool(2);
    std::atomic<int> ended{0};
    run_on(pool.get_executor(), [&]() -> coroutine<> {
        const environment& env = co_await get_environment();
        async_scope scope(env);
        std::function<coroutine<>(int)> grow = [&](int depth) -> coroutine<> {
            co_await sleep_for(10us);
            for (int i = 0; depth != 0 && i != 2; ++i) {
                const auto child = [&grow, depth]() -> coroutine<> { co_await grow(depth - 1); };
                CHECK(scope.spawn(child));
            }
            ++ended;
        };
        const auto first = [&grow]() -> coroutine<> { co_await grow(6); };
        CHECK(scope.spawn(first));
        co_await scope.wait();
    });
    CHECK(ended == 127);
}

TEST_CASE("an error of a child cancels its siblings and comes out of wait(), the first one only") {
    thread_pool pool(2);
    gate never;
    gate go;
    int stopped = 0;
    auto running = begin_on(pool.get_executor(), [&]() -> coroutine<> {
        const environment& env = co_await get_environment();
        async_scope scope(env);
        const auto waiting = [&]() -> coroutine<> {
            try {
                co_await never.wait();
            } catch (const operation_canceled&) {
                ++stopped;
                throw;
            }
        };
        const auto failing = [&]() -> coroutine<> {
            co_await go.wait();
            throw std::runtime_error("first");
        };
        CHECK(scope.spawn(waiting));
        CHECK(scope.spawn(failing));
        std::string caught;
        try {
            co_await scope.wait();
        } catch (const std::runtime_error& error) {
            caught = error.what();
        }
        CHECK(caught == "first");
        CHECK(stopped == 1);
        CHECK(scope.stop_requested());
        co_await scope.wait(); // not again
    });
    until([&] { return never.waiting() == 1 && go.waiting() == 1; });
    go.open();
    running.get();
}

TEST_CASE("cancellation of a scope is no error, and a stop from outside reaches the children") {
    thread_pool pool(2);
    gate never;
    stop_state stop;
    auto running = begin_on(
        pool.get_executor(),
        [&]() -> coroutine<> {
            const environment& env = co_await get_environment();
            async_scope scope(env);
            const auto waiting = [&]() -> coroutine<> { co_await never.wait(); };
            for (int i = 0; i != 5; ++i) CHECK(scope.spawn(waiting));
            co_await scope.wait();
        },
        &stop);
    until([&] { return never.waiting() == 5; });
    stop.request_stop();
    running.get();
}

TEST_CASE("rule: a scope that is stopped before the first resume of a child ends") {
    thread_pool pool(1);
    std::atomic<int> stopped{0};
    run_on(pool.get_executor(), [&]() -> coroutine<> {
        const environment& env = co_await get_environment();
        async_scope scope(env);
        const auto child = [&]() -> coroutine<> {
            try {
                co_await sleep_for(24h);
            } catch (const operation_canceled&) {
                ++stopped;
            }
        };
        CHECK(scope.spawn(child)); // queued behind this one, on the only thread
        CHECK(scope.request_stop());
        CHECK_FALSE(scope.request_stop());
        CHECK(scope.spawn(child));
        co_await scope.wait();
    });
    CHECK(stopped == 2);
}

TEST_CASE("rule: wait() from inside a child is refused") {
    thread_pool pool(2);
    std::atomic<int> refused{0}; // the pool may run all three at once
    run_on(pool.get_executor(), [&]() -> coroutine<> {
        const environment& env = co_await get_environment();
        async_scope scope(env);
        const auto joining = [&]() -> coroutine<> {
            try {
                co_await scope.wait();
                FAIL("waited for itself");
            } catch (const std::system_error& error) {
                CHECK(error.code() == std::errc::resource_deadlock_would_occur);
                ++refused;
            }
        };
        const auto deeper = [&]() -> coroutine<> { // by way of awaits, groups and limits
            const auto inside = [&]() -> coroutine<> { co_await when_all(joining, joining); };
            co_await with_timeout(24h, inside);
        };
        CHECK(scope.spawn(joining));
        CHECK(scope.spawn(deeper));
        co_await scope.wait();
    });
    CHECK(refused == 3);
}

TEST_CASE("the callable of a child is kept as long as its coroutine, and gone before wait() returns") {
    thread_pool pool(2);
    std::atomic<int> alive{0};
    gate closed;
    auto running = begin_on(pool.get_executor(), [&]() -> coroutine<> {
        const environment& env = co_await get_environment();
        async_scope scope(env);
        {
            const witness captured(alive);
            auto child = [captured, &closed, &alive]() -> coroutine<> {
                const witness local(alive);
                co_await closed.wait();
                CHECK(alive >= 2);
            };
            CHECK(scope.spawn(child));
            CHECK(scope.spawn(std::move(child)));
        }
        co_await scope.wait();
        CHECK(alive == 0);
    });
    until([&] { return closed.waiting() == 2; });
    CHECK(alive == 4);
    closed.open();
    running.get();
}

TEST_CASE("rule: the last child may destroy the scope's owner") {
    thread_pool pool(2);
    for (int round = rounds(500); round >= 0; --round) {
        struct owner {
            explicit owner(thread_pool& p) : scope(p.get_executor()) {}
            async_scope scope;
        };
        auto owned = std::make_unique<owner>(pool);
        gate closed;
        std::atomic<int> ended{0};
        const auto child = [&]() -> coroutine<> {
            co_await closed.wait();
            ++ended;
        };
        for (int i = 0; i != 3; ++i) REQUIRE(owned->scope.spawn(child));
        auto running = begin_on(pool.get_executor(), [&]() -> coroutine<> {
            co_await owned->scope.wait();
            owned.reset(); // while the thread of the last child is still on its way out
        });
        closed.open();
        running.get();
        REQUIRE(ended == 3);
    }
}

TEST_CASE("rule: spawn() against wait(): what was accepted is awaited, what comes later is refused") {
    thread_pool pool(2);
    for (int round = rounds(300); round >= 0; --round) {
        async_scope scope(pool.get_executor());
        std::atomic<int> ended{0};
        const auto child = [&]() -> coroutine<> {
            ++ended;
            co_return;
        };
        REQUIRE(scope.spawn(child));
        int accepted = 1;
        std::thread spawner([&] {
            while (scope.spawn(child)) ++accepted;
        });
        run_on(pool.get_executor(), [&]() -> coroutine<> {
            scope.close();
            co_await scope.wait();
        });
        spawner.join();
        REQUIRE(ended == accepted);
    }
}

TEST_CASE("two may wait for one scope") {
    thread_pool pool(2);
    async_scope scope(pool.get_executor());
    gate closed;
    const auto child = [&]() -> coroutine<> { co_await closed.wait(); };
    REQUIRE(scope.spawn(child));
    std::atomic<int> begun{0};
    const auto joining = [&]() -> coroutine<> {
        ++begun;
        co_await scope.wait();
    };
    auto one = begin_on(pool.get_executor(), joining);
    auto other = begin_on(pool.get_executor(), joining);
    until([&] { return begun == 2 && closed.waiting() == 1; });
    closed.open();
    one.get();
    other.get();
}

TEST_CASE("a scope that is destroyed without a wait() ends the program with a message") {
    const auto result = run_in_child([] {
        thread_pool pool(1);
        {
            async_scope scope(pool.get_executor());
            const auto child = []() -> coroutine<> { co_return; };
            (void)scope.spawn(child);
            pool.wait_idle();
        }
    });
    CHECK(result.signal == SIGABRT);
    CHECK(result.error_output.find("async_scope: destroyed without a wait()") != std::string::npos);
}

TEST_CASE("with_scope waits in any case, and gives the result of its body") {
    thread_pool pool(2);
    gate never;
    run_on(pool.get_executor(), [&]() -> coroutine<> {
        std::atomic<int> ended = 0; // the pool may run both children at once
        const auto working = [&](async_scope& scope) -> coroutine<int> {
            const auto child = [&]() -> coroutine<> {
                co_await sleep_for(1ms);
                ++ended;
            };
            CHECK(scope.spawn(child));
            CHECK(scope.spawn(child));
            co_return 5;
        };
        const int result = co_await with_scope(working);
        CHECK(result == 5);
        CHECK(ended == 2);
        bool is_stopped = false;
        const auto failing = [&](async_scope& scope) -> coroutine<> {
            const auto child = [&]() -> coroutine<> {
                try {
                    co_await never.wait();
                } catch (const operation_canceled&) {
                    is_stopped = true;
                }
            };
            CHECK(scope.spawn(child));
            throw std::runtime_error("body");
            co_return;
        };
        std::string caught;
        try {
            co_await with_scope(failing);
        } catch (const std::runtime_error& error) {
            caught = error.what();
        }
        CHECK(caught == "body");
        CHECK(is_stopped);
        const auto sleeping = [&](async_scope& scope) -> coroutine<> { // stopped by its child
            const auto child = []() -> coroutine<> {
                co_await sleep_for(1ms);
                throw std::runtime_error("child");
            };
            CHECK(scope.spawn(child));
            co_await sleep_for(24h);
        };
        try {
            co_await with_scope(sleeping);
        } catch (const std::runtime_error& error) {
            caught = error.what();
        }
        CHECK(caught == "child");
        bool is_timed_out = false;
        const auto forever = [&](async_scope&) -> coroutine<> { co_await never.wait(); };
        const auto scoped = [&]() -> coroutine<> { co_await with_scope(forever); };
        try {
            co_await with_timeout(1ms, scoped);
        } catch (const timed_out&) {
            is_timed_out = true;
        }
        CHECK(is_timed_out);
    });
}

TEST_CASE(
    "rule: executor gone first: children of a scope that wait or are queued are destroyed once, locals too") {
    std::atomic<int> alive{0};
    gate never;
    gate open;
    SUBCASE("the scope lies in a coroutine of the context that waits for something else, or for the scope") {
        loop_context loop;
        bool joins = false;
        SUBCASE("for the scope") { joins = true; }
        SUBCASE("waits") {}
        auto running = begin_on(loop.get_executor(), [&]() -> coroutine<> {
            gate inner;
            const witness outer(alive);
            const environment& env = co_await get_environment();
            async_scope scope(env);
            const auto waiting = [&]() -> coroutine<> {
                const witness local(alive);
                co_await inner.wait(); // goes with the parent's frame
            };
            const auto queued = [&]() -> coroutine<> {
                const witness local(alive);
                co_await open.wait();
            };
            CHECK(scope.spawn(waiting));
            CHECK(scope.spawn(queued));
            if (!joins) co_await never.wait();
            co_await scope.wait();
        });
        loop.poll();
        CHECK(alive == 3);
        open.open();
    }
    SUBCASE("the scope is in an object that lives longer") {
        std::optional<loop_context> loop(std::in_place);
        async_scope scope(loop->get_executor());
        const auto waiting = [&]() -> coroutine<> {
            const witness local(alive);
            co_await never.wait();
        };
        CHECK(scope.spawn(waiting));
        CHECK(scope.spawn(waiting));
        loop->poll();
        CHECK(alive == 2);
        loop.reset();
        CHECK(scope.size() == 0);
    }
    SUBCASE("the pool has stopped: a child ends at once") {
        thread_pool pool(1);
        pool.stop();
        async_scope scope(pool.get_executor());
        const auto child = [&]() -> coroutine<> {
            const witness local(alive);
            co_return;
        };
        CHECK(scope.spawn(child));
        CHECK(scope.size() == 0);
    }
    CHECK(alive == 0);
    CHECK(never.waiting() == 0);
}

TEST_CASE("10^5 children of one scope come and go") {
    thread_pool pool(2);
    std::atomic<int> ended{0};
    const int count = rounds(100000);
    run_on(pool.get_executor(), [&]() -> coroutine<> {
        const environment& env = co_await get_environment();
        async_scope scope(env);
        const auto child = [&]() -> coroutine<> {
            ++ended;
            co_return;
        };
        for (int i = 0; i != count; ++i) (void)scope.spawn(child);
        co_await scope.wait();
    });
    CHECK(ended == count);
}

TEST_CASE("rule: two coroutines join one scope, and the first that goes on may destroy it") {
    struct at_once : loop_context::executor_type {
        explicit at_once(loop_context& of) : loop_context::executor_type(of.get_executor()) {}
        bool accept(task* given, task_order) const { return given->run(), true; }
    };
    loop_context loop;
    gate opened;
    auto scope = std::make_unique<async_scope>(loop.get_executor());
    std::unique_ptr<async_scope> next; // where the first one was, with an error of its own
    int joined = 0;
    const auto joins = [&]() -> coroutine<> {
        co_await scope->wait();
        ++joined;
        if (next != nullptr) co_return;
        scope.reset();
        next = std::make_unique<async_scope>(at_once(loop));
        const auto throws = []() -> coroutine<> {
            throw std::runtime_error("of another scope");
            co_return;
        };
        CHECK(next->spawn(throws));
        CHECK(next->stop_requested());
    };
    CHECK(scope->spawn([&] { return ekiden_test::wait_at(opened); }));
    auto one = co_spawn(loop, joins, use_future);
    auto other = co_spawn(loop, joins, use_future);
    loop.poll();
    opened.open();
    loop.poll();
    CHECK(joined == 2);
    CHECK_NOTHROW(one.get());
    CHECK_NOTHROW(other.get());
    auto last = co_spawn(loop, [&]() -> coroutine<> { co_await next->wait(); }, use_future);
    loop.restart();
    loop.run();
    CHECK_THROWS_AS(last.get(), std::runtime_error);
}

namespace {

struct throws_when_copied {
    throws_when_copied() = default;
    throws_when_copied(const throws_when_copied&) { throw std::runtime_error("no copy"); }
    coroutine<> operator()() const { co_return; }
};

} // namespace

TEST_CASE("If spawn() throws, the owner may leave the scope without a wait()") {
    struct sometimes : loop_context::executor_type {
        sometimes(loop_context& of, const bool& failing)
            : loop_context::executor_type(of.get_executor()), is_failing(&failing) {}
        bool accept(task* given, task_order order) const {
            owned_task kept(given);
            if (*is_failing) throw std::runtime_error("not now");
            const loop_context::executor_type& inner = *this;
            return accept_task(inner, kept.release(), order);
        }
        const bool* is_failing;
    };
    loop_context loop(1);
    auto copied = co_spawn(
        loop,
        []() -> coroutine<> {
            const throws_when_copied child;
            async_scope scope(co_await get_environment());
            (void)scope.spawn(child);
            co_await scope.wait();
        },
        use_future);
    bool is_failing = false;
    const any_executor where = sometimes(loop, is_failing);
    auto refused = co_spawn(
        where,
        [&]() -> coroutine<> {
            is_failing = true;
            co_await with_scope([](async_scope&) -> coroutine<> { co_return; });
        },
        use_future);
    loop.run();
    CHECK_THROWS_WITH_AS(copied.get(), "no copy", std::runtime_error);
    CHECK_THROWS_WITH_AS(refused.get(), "not now", std::runtime_error);
}

TEST_CASE("rule: a context ends with a scope while its children move on another context") {
    struct moves {
        strand<thread_pool::executor_type> to;
        auto operator()() const { return resume_on(to); } // moves the root of the child
    };
    thread_pool other({.threads = 2});
    const int rounds = 300;
    for (int round = 0; round != rounds; ++round) {
        auto ending = std::make_unique<thread_pool>(thread_pool_options{.threads = 1});
        event never;
        std::atomic<bool> is_ready{false};
        co_spawn(*ending, [&]() -> coroutine<> {
            async_scope scope(environment(other.get_executor()));
            const moves child{strand(other.get_executor())};
            for (int i = 0; i != 200; ++i) CHECK(scope.spawn(child));
            is_ready = true;
            co_await async_wait(never);
        });
        while (!is_ready) std::this_thread::yield();
        ending->stop();
        ending.reset();
        other.wait_idle();
    }
}
