// A coroutine that an executor refuses or drops ends at once, in the context of its root; what waits for it
// is told, and that context has no work of it any more.
#include "../child_process.hpp"
#include "run_coroutine.hpp"

#include <ekiden/async/async_event.hpp>
#include <ekiden/async/async_scope.hpp>
#include <ekiden/async/co_spawn.hpp>
#include <ekiden/async/resume_on.hpp>
#include <ekiden/async/sleep.hpp>
#include <ekiden/async/sync_wait.hpp>
#include <ekiden/async/use_awaitable.hpp>
#include <ekiden/async/when_all.hpp>
#include <ekiden/async/when_any.hpp>
#include <ekiden/async/with_deadline.hpp>
#include <ekiden/async/yield.hpp>
#include <ekiden/execution/strand.hpp>
#include <ekiden/lanes/lanes.hpp>
#include <ekiden/loop/loop_context.hpp>
#include <ekiden/pool/thread_pool.hpp>
#include <ekiden/sync/event.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <latch>
#include <memory>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

using namespace ekiden;
using namespace std::chrono_literals;
using ekiden_test::gate;
using ekiden_test::witness;

namespace {

struct stopped_pool : thread_pool {
    stopped_pool() : thread_pool(1) { stop(); }
};

/// "canceled", or what else has come out of it.
template <class Wait>
std::string outcome_of(Wait wait) {
    try {
        wait();
        return "a result";
    } catch (const std::system_error& error) {
        return error.code() == std::errc::operation_canceled ? "canceled" : error.what();
    } catch (const std::exception& error) {
        return error.what();
    }
}
/// The same in a coroutine.
template <class F>
coroutine<std::string> outcome_in(F wait) {
    try {
        co_await wait();
    } catch (const std::system_error& error) {
        co_return error.code() == std::errc::operation_canceled ? "canceled" : error.what();
    }
    co_return "a result";
}

/// Hops to `where` and nowhere else.
template <class Where>
coroutine<> hop(Where& where, std::atomic<int>& alive) {
    const witness local(alive);
    co_await resume_on(where);
}

using keyed = lanes<int, loop_context::executor_type>;
keyed::options room_for_one(when_full policy) { return {.lane_capacity = 1, .policy = policy}; }

} // namespace

TEST_CASE("rule: a coroutine that a stopped pool refuses ends, and its loop has no work left") {
    std::atomic<int> alive{0};
    loop_context loop;
    stopped_pool stopped;
    auto result = co_spawn(
        loop,
        [&]() -> coroutine<> {
            const witness outer(alive);
            co_await hop(stopped, alive);
        },
        use_future);
    loop.poll();
    CHECK(alive == 0);
    CHECK(loop.is_stopped()); // run() would return
    REQUIRE(result.is_ready());
    CHECK(outcome_of([&] { result.get(); }) == "canceled");
}

TEST_CASE("rule: a coroutine that a full lane refuses or drops ends, and its loop has no work left") {
    std::atomic<int> alive{0};
    loop_context loop;
    loop_context busy; // runs nothing: its lanes stay full
    for (const when_full policy : {when_full::reject, when_full::drop_newest, when_full::drop_oldest}) {
        CAPTURE(static_cast<int>(policy));
        keyed all(busy.get_executor(), room_for_one(policy));
        const auto lane = all.get_executor(1);
        future<void> first;
        const bool drops_the_first = policy == when_full::drop_oldest;
        if (drops_the_first) {
            first = co_spawn(loop, [&] { return hop(lane, alive); }, use_future);
            loop.poll();
            CHECK(alive == 1);
        } else {
            REQUIRE(all.post(1, [] {}));
        }
        SUBCASE("by a post of a coroutine") {
            auto second = co_spawn(loop, [&] { return hop(lane, alive); }, use_future);
            loop.poll();
            future<void>& ended = drops_the_first ? first : second;
            REQUIRE(ended.is_ready());
            CHECK(outcome_of([&] { ended.get(); }) == "canceled");
            all.close(1);
            loop.poll();
            CHECK(alive == 0);
            CHECK(loop.is_stopped());
        }
        SUBCASE("by a post of a function") {
            (void)all.post(1, [] {});
            loop.poll();
            if (drops_the_first) CHECK(first.is_ready());
            CHECK(alive == 0);
            CHECK(loop.is_stopped());
        }
        busy.poll();
        busy.restart();
        loop.restart();
    }
}

TEST_CASE("rule: a coroutine that its own full lane refuses ends, and the loop beneath has no work left") {
    std::atomic<int> alive{0};
    loop_context loop;
    keyed all(loop.get_executor(), room_for_one(when_full::reject));
    const auto lane = all.get_executor(1);
    auto result = co_spawn(
        lane,
        [&]() -> coroutine<> {
            const witness local(alive);
            CHECK(all.post(1, [] {}));
            co_await yield(); // there is no room for it
        },
        use_future);
    loop.run();
    CHECK(alive == 0);
    REQUIRE(result.is_ready());
    CHECK(outcome_of([&] { result.get(); }) == "canceled");
}

TEST_CASE("rule: join() of a pool does not wait for a coroutine that another pool has refused") {
    std::atomic<int> alive{0};
    stopped_pool stopped;
    std::vector<future<void>> results;
    {
        thread_pool pool(2);
        for (int i = 0; i != 20; ++i)
            results.push_back(co_spawn(pool, [&] { return hop(stopped, alive); }, use_future));
        pool.join();
        for (auto& each : results) CHECK(each.is_ready());
        CHECK(alive == 0);
    }
    for (auto& each : results) CHECK(outcome_of([&] { each.get(); }) == "canceled");
}

TEST_CASE("rule: sync_wait throws operation_canceled if an executor refuses the coroutine") {
    std::atomic<int> alive{0};
    stopped_pool stopped;
    thread_pool pool(1);
    CHECK(outcome_of([&] { sync_wait(pool.get_executor(), [&] { return hop(stopped, alive); }); })
          == "canceled");
    strand<thread_pool::executor_type> serial(pool.get_executor());
    CHECK(outcome_of([&] { sync_wait(serial, [&] { return hop(stopped, alive); }); }) == "canceled");
    CHECK(alive == 0);
}

TEST_CASE("rule: an executor that throws has refused the coroutine") {
    struct throwing : loop_context::executor_type {
        explicit throwing(loop_context& of) : loop_context::executor_type(of.get_executor()) {}
        bool accept(task* given, task_order) const {
            given->abandon();
            throw std::bad_alloc();
        }
    };
    std::atomic<int> alive{0};
    loop_context loop;
    const any_executor where = throwing(loop);
    auto result = co_spawn(loop, [&] { return hop(where, alive); }, use_future);
    loop.poll();
    CHECK(loop.is_stopped());
    REQUIRE(result.is_ready());
    CHECK(outcome_of([&] { result.get(); }) == "canceled");
}

TEST_CASE(
    "rule: a coroutine that waits is resumed into a stopped pool, and ends in the context of its root") {
    std::atomic<int> alive{0};
    loop_context loop;
    thread_pool other(1);
    event news;
    auto result = co_spawn(
        loop,
        [&]() -> coroutine<> {
            const witness local(alive);
            co_await resume_on(other);
            co_await async_wait(news);
        },
        use_future);
    loop.poll();
    other.wait_idle();
    other.stop();
    news.set(); // refused: nothing is destroyed on this stack
    CHECK(alive == 1);
    loop.poll();
    CHECK(alive == 0);
    CHECK(loop.is_stopped());
    CHECK(result.is_ready());
}

TEST_CASE("rule: groups throw operation_canceled if an executor refuses a member, and stop the others") {
    std::atomic<int> alive{0};
    loop_context loop;
    stopped_pool stopped;
    gate never;
    const auto refused = [&] { return hop(stopped, alive); };
    const auto waiting = [&]() -> coroutine<> {
        const witness local(alive);
        co_await never.wait();
    };
    const auto in_a_group = [&](auto body) {
        auto result = co_spawn(loop, [&] { return outcome_in(body); }, use_future);
        loop.poll();
        CHECK(loop.is_stopped());
        CHECK(alive == 0);
        REQUIRE(result.is_ready());
        CHECK(outcome_of([&] { CHECK(result.get() == "canceled"); }) == "a result");
        loop.restart();
    };
    SUBCASE("when_any") {
        in_a_group([&]() -> coroutine<> { co_await when_any(waiting, refused); });
    }
    SUBCASE("when_all") {
        in_a_group([&]() -> coroutine<> { co_await when_all(refused, waiting); });
    }
    SUBCASE("with_timeout") {
        in_a_group([&]() -> coroutine<> { co_await with_timeout(1h, refused); });
    }
    SUBCASE("shield") {
        in_a_group([&]() -> coroutine<> { co_await shield(refused); });
    }
    SUBCASE("with_scope") {
        in_a_group([&]() -> coroutine<> {
            const auto body = [&](async_scope& scope) -> coroutine<> {
                CHECK(scope.spawn(waiting));
                co_await hop(stopped, alive);
            };
            co_await with_scope(body);
        });
    }
    SUBCASE("a child of a scope") {
        in_a_group([&]() -> coroutine<> {
            async_scope scope(co_await get_environment());
            CHECK(scope.spawn(waiting));
            CHECK(scope.spawn(refused));
            co_await scope.wait();
        });
    }
    SUBCASE("a group inside of a group") {
        in_a_group([&]() -> coroutine<> {
            const auto inner = [&]() -> coroutine<> { co_await when_all(waiting, refused); };
            co_await when_any(inner, waiting);
        });
    }
}

TEST_CASE("when_any: the result of a member counts, also if the executor of another one refuses that later") {
    std::atomic<int> alive{0};
    loop_context loop;
    thread_pool other(1);
    gate opened;
    gate other_waits;
    auto result = co_spawn(
        loop,
        [&]() -> coroutine<int> {
            const auto elsewhere = [&]() -> coroutine<int> {
                const witness local(alive);
                co_await resume_on(other);
                co_await other_waits.wait(); // ended by the stop, and refused then
                co_return 1;
            };
            const auto here = [&]() -> coroutine<int> {
                co_await opened.wait();
                co_return 2;
            };
            const auto first = co_await when_any(elsewhere, here);
            co_return first.index() == 1 ? std::get<1>(first) : 1;
        },
        use_future);
    loop.poll();
    other.wait_idle();
    other.stop();
    opened.open();
    loop.poll();
    CHECK(loop.is_stopped());
    CHECK(alive == 0);
    REQUIRE(result.is_ready());
    CHECK(result.get() == 2);
}

TEST_CASE("rule: a scope whose owner is dropped while a child lives leaves the child to itself") {
    std::atomic<int> alive{0};
    loop_context loop;
    stopped_pool stopped;
    gate later;
    std::stop_source source;
    auto result = co_spawn(
        loop,
        [&]() -> coroutine<> {
            const witness owner(alive);
            async_scope scope(co_await get_environment());
            CHECK(scope.spawn([&]() -> coroutine<> {
                const witness local(alive);
                co_await shield([&] { return ekiden_test::wait_at(later); });
            }));
            co_await yield(); // the child waits
            co_await hop(stopped, alive);
        },
        use_future, spawn_options().stop(source.get_token()));
    loop.poll();
    CHECK(alive == 1); // the child
    REQUIRE(result.is_ready());
    (void)source.request_stop(); // goes no further than to what is there
    later.open();
    loop.poll();
    CHECK(alive == 0);
    CHECK(loop.is_stopped());
}

TEST_CASE("rule: a task that waits in sync_wait for a coroutine of its own pool is told of the refusal") {
    std::atomic<int> alive{0};
    event news;
    event suspended;
    std::string outcome;
    const auto one = [&]() -> coroutine<> {
        const witness local(alive);
        suspended.set();
        co_await async_wait(news);
    };
    const auto waits_in_a_task = [&](auto body) {
        thread_pool pool(1);
        REQUIRE(pool.post([&] {
            outcome = outcome_of([&] { sync_wait(pool.get_executor(), body); });
            outcome += alive == 0 ? ", all has ended" : ", but a frame lives";
        }));
        suspended.wait();
        // The worker runs what is in front of this: the whole coroutine has been suspended.
        event reached;
        REQUIRE(pool.post([&] { reached.set(); }));
        reached.wait();
        pool.stop();
        news.set();
        pool.join();
        CHECK(outcome == "canceled, all has ended");
    };
    SUBCASE("the coroutine itself") { waits_in_a_task(one); }
    SUBCASE("one that it awaits") {
        waits_in_a_task([&]() -> coroutine<> {
            const witness local(alive);
            co_await one();
        });
    }
    SUBCASE("members of a group, each refused on its own") {
        waits_in_a_task([&]() -> coroutine<> {
            const witness local(alive);
            co_await when_all(one, one, one);
        });
    }
    SUBCASE("a child of a scope") {
        waits_in_a_task([&]() -> coroutine<> {
            const auto body = [&](async_scope& scope) -> coroutine<> {
                CHECK(scope.spawn(one));
                co_return;
            };
            co_await with_scope(body);
        });
    }
    SUBCASE("one inside of another") {
        waits_in_a_task([&]() -> coroutine<> {
            const witness local(alive);
            CHECK(outcome_of([&] { sync_wait(one); }) == "canceled");
            co_await yield();
        });
    }
    CHECK(alive == 0);
}

TEST_CASE("rule: a thread that waits in sync_wait is told of the refusal before the pool ends, also by two") {
    std::atomic<int> alive{0};
    event news;
    thread_pool pool(1);
    std::latch suspended(2);
    std::vector<std::thread> threads;
    std::atomic<int> canceled{0};
    for (int i = 0; i != 2; ++i) {
        threads.emplace_back([&] {
            const auto outcome = outcome_of([&] {
                sync_wait(pool.get_executor(), [&]() -> coroutine<> {
                    const witness local(alive);
                    suspended.count_down();
                    co_await async_wait(news);
                });
            });
            if (outcome == "canceled") ++canceled;
        });
    }
    suspended.wait();
    pool.wait_idle();
    pool.stop();
    SUBCASE("refused") {
        news.set();
        for (std::thread& each : threads) each.join();
    }
    SUBCASE("after join()") {
        pool.join();
        news.set();
        for (std::thread& each : threads) each.join();
    }
    CHECK(canceled == 2);
    CHECK(alive == 0);
}

TEST_CASE("a refused coroutine that is the last owner of its pool ends the program with a message") {
    const auto result = ekiden_test::run_in_child([] {
        event opened;
        event never;
        std::atomic<int> begun{0};
        auto pool = std::make_shared<thread_pool>(1);
        co_spawn(*pool, [owned = pool, &begun, &opened]() -> coroutine<> {
            ++begun;
            co_await async_wait(opened);
        });
        std::thread waits([&begun, &never, where = pool->get_executor()] {
            sync_wait(where, [&]() -> coroutine<> {
                ++begun;
                co_await async_wait(never);
            });
        });
        while (begun != 2) std::this_thread::yield();
        pool->wait_idle();
        pool->stop();
        pool.reset();
        opened.set();
        waits.join();
    });
    CHECK(result.signal == SIGABRT);
    CHECK(result.error_output.find("must not be the last owner of its context") != std::string::npos);
}

TEST_CASE("rule: the end of a context and threads in sync_wait destroy each coroutine once") {
    std::atomic<int> alive{0};
    for (int round = 0; round != 50; ++round) {
        event news;
        std::optional<thread_pool> pool(std::in_place, 1U);
        std::latch suspended(3);
        std::vector<std::thread> threads;
        std::atomic<int> canceled{0};
        for (int i = 0; i != 3; ++i) {
            threads.emplace_back([&, where = pool->get_executor()] {
                const auto outcome = outcome_of([&] {
                    sync_wait(where, [&]() -> coroutine<> {
                        const witness local(alive);
                        suspended.count_down();
                        co_await async_wait(news);
                    });
                });
                if (outcome == "canceled") ++canceled;
            });
        }
        suspended.wait();
        pool->wait_idle();
        pool->stop();
        if (round % 2 == 0) news.set();
        pool.reset();
        for (std::thread& each : threads) each.join();
        CHECK(canceled == 3);
        CHECK(alive == 0);
    }
}
