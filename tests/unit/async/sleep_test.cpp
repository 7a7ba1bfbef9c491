// Timers that are awaited: expiry, stop, deadlines, and both at once.
#include "../effort.hpp"
#include "run_coroutine.hpp"

#include <ekiden/async/get_environment.hpp>
#include <ekiden/async/sleep.hpp>
#include <ekiden/async/when_all.hpp>
#include <ekiden/async/with_deadline.hpp>
#include <ekiden/loop/loop_context.hpp>
#include <ekiden/pool/thread_pool.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace {

using namespace ekiden;
using namespace ekiden_test;
using namespace std::chrono_literals;
using clock_type = std::chrono::steady_clock;

struct end_counter {
    std::atomic<int>* ended;
    explicit end_counter(std::atomic<int>& e) : ended(&e) {}
    ~end_counter() { ++*ended; }
    end_counter(const end_counter&) = delete;
    end_counter& operator=(const end_counter&) = delete;
};

} // namespace

TEST_CASE("a sleep ends when its time has come, on the coroutine's executor") {
    thread_pool pool(2);
    run_on(pool.get_executor(), [&]() -> coroutine<> {
        const auto before = clock_type::now();
        co_await sleep_for(5ms);
        CHECK(clock_type::now() - before >= 5ms);
        CHECK(pool.get_executor().running_in_this_thread());
        co_await sleep_until(before); // has passed
        co_await sleep_for(-1h);
        co_await sleep_until(std::chrono::system_clock::now() + 1ms);
        CHECK(pool.get_executor().running_in_this_thread());
    });
    loop_context loop;
    auto on_loop = begin_on(loop.get_executor(), []() -> coroutine<int> {
        co_await sleep_for(2ms);
        co_return 3;
    });
    loop.run();
    CHECK(on_loop.get() == 3);
}

TEST_CASE("a stop ends a sleep at once, with operation_canceled") {
    thread_pool pool(2);
    stop_state stop;
    std::atomic<bool> has_begun{false};
    auto running = begin_on(
        pool.get_executor(),
        [&]() -> coroutine<> {
            has_begun = true;
            co_await sleep_for(24h);
        },
        &stop);
    until([&] { return has_begun.load(); });
    stop.request_stop(); // at whatever moment
    CHECK_THROWS_AS(running.get(), operation_canceled);
}

TEST_CASE("rule: an operation started after the stop completes at once with operation_canceled, posted") {
    loop_context loop;
    stop_state stop;
    stop.request_stop();
    bool is_inside = false;
    auto running = begin_on(
        loop.get_executor(),
        [&]() -> coroutine<> {
            for (int i = 0; i != 3; ++i) {
                is_inside = true;
                try {
                    co_await sleep_for(24h);
                    FAIL("it slept");
                } catch (const operation_canceled&) {
                }
            }
        },
        &stop);
    loop.run_one();
    CHECK(is_inside);
    CHECK_FALSE(running.is_ready()); // the first await was posted
    loop.run();
    running.get();
}

TEST_CASE("a sleep whose time has come before the stop succeeds") {
    loop_context loop;
    stop_state stop;
    auto running = begin_on(loop.get_executor(), [&]() -> coroutine<> { co_await sleep_for(0ms); }, &stop);
    loop.run_one(); // begins; the timer is due, or the next look finds it
    until([&] { return loop.poll_one() != 0 || running.is_ready(); });
    stop.request_stop();
    loop.run();
    if (!running.is_ready()) FAIL("not over");
    running.get();
}

TEST_CASE("many sleeps, stopped and expiring in several threads") {
    thread_pool pool(2);
    for (int round = rounds(30); round >= 0; --round) {
        std::atomic<int> slept{0};
        std::atomic<int> stopped{0};
        stop_state stop;
        auto running = begin_on(
            pool.get_executor(),
            [&]() -> coroutine<> {
                const auto sleeper = [&]() -> coroutine<> {
                    for (int i = 0; i != 20; ++i) {
                        bool is_stopped = false;
                        try {
                            co_await sleep_for(std::chrono::microseconds(10 * i));
                        } catch (const operation_canceled&) {
                            is_stopped = true;
                        }
                        ++(is_stopped ? stopped : slept);
                    }
                };
                std::vector<std::function<coroutine<>()>> all(50, sleeper);
                co_await when_all(std::move(all));
            },
            &stop);
        std::this_thread::sleep_for(std::chrono::microseconds(50 * round));
        stop.request_stop();
        running.get();
        CHECK(slept + stopped == 1000);
    }
}

TEST_CASE("rule: context destroyed with sleeping coroutines: all frames destroyed once") {
    std::atomic<int> ended{0};
    std::vector<future<void>> all;
    const int count = rounds(10000);
    SUBCASE("of a loop") {
        loop_context loop;
        for (int i = 0; i != count; ++i) {
            all.push_back(begin_on(loop.get_executor(), [&]() -> coroutine<> {
                const end_counter here(ended);
                co_await sleep_for(24h);
            }));
        }
        loop.poll();
        CHECK(ended == 0);
    }
    SUBCASE("of a pool that stops") {
        std::atomic<int> begun{0};
        thread_pool pool(2);
        for (int i = 0; i != count; ++i) {
            all.push_back(begin_on(pool.get_executor(), [&]() -> coroutine<> {
                const end_counter here(ended);
                ++begun;
                co_await sleep_for(24h);
            }));
        }
        until([&] { return begun == count; });
        pool.stop();
    }
    CHECK(ended == count);
    for (auto& each : all) CHECK_THROWS_AS(each.get(), std::future_error);
}

TEST_CASE("with_timeout gives the result of what ends in time, and sets no timer for what does not wait") {
    thread_pool pool(2);
    run_on(pool.get_executor(), []() -> coroutine<> {
        const auto quick = []() -> coroutine<int> { co_return 5; };
        const int at_once = co_await with_timeout(24h, quick);
        CHECK(at_once == 5);
        const auto slower = []() -> coroutine<std::unique_ptr<int>> {
            co_await sleep_for(1ms);
            co_return std::make_unique<int>(6);
        };
        const auto in_time = co_await with_timeout(24h, slower);
        CHECK(*in_time == 6);
        int target = 0;
        const auto reference = [&]() -> coroutine<int&> { co_return target; };
        int& same = co_await with_timeout(24h, reference);
        CHECK(&same == &target);
        const auto failing = []() -> coroutine<> {
            co_await sleep_for(1ms);
            throw 7;
        };
        try {
            co_await with_timeout(24h, failing);
            FAIL("nothing came out");
        } catch (int n) {
            CHECK(n == 7);
        }
    });
}

TEST_CASE("with_timeout stops what takes longer, and timed_out comes out") {
    thread_pool pool(2);
    run_on(pool.get_executor(), []() -> coroutine<> {
        const auto sleeping = []() -> coroutine<> { co_await sleep_for(24h); };
        try {
            co_await with_timeout(2ms, sleeping);
            FAIL("nothing came out");
        } catch (const timed_out& error) {
            CHECK(error.code() == std::errc::timed_out);
        }
        try { // the deadline has passed before it begins
            co_await with_deadline(clock_type::now() - 1s, sleeping);
            FAIL("nothing came out");
        } catch (const timed_out&) {
        }
        co_await sleep_for(1us); // what is outside is not stopped
        const auto returning = []() -> coroutine<int> {
            try {
                co_await sleep_for(24h);
            } catch (const operation_canceled&) {
            }
            co_return 4;
        };
        const int late = co_await with_timeout(1ms, returning);
        CHECK(late == 4); // a result counts, however late
    });
}

TEST_CASE("with_deadline is inherited, and the earlier one counts") {
    thread_pool pool(2);
    run_on(pool.get_executor(), []() -> coroutine<> {
        const auto time = clock_type::now() + 24h;
        const auto inner = [&]() -> coroutine<> {
            const environment& env = co_await get_environment();
            CHECK(env.deadline == time);
            CHECK(env.stop != nullptr);
        };
        const auto later_inside = [&]() -> coroutine<> { co_await with_deadline(time + 1h, inner); };
        co_await with_deadline(time, later_inside);
        const environment& env = co_await get_environment();
        CHECK(env.deadline == clock_type::time_point::max());
        const auto sleeping = []() -> coroutine<> { co_await sleep_for(24h); };
        const auto long_inside = [&]() -> coroutine<> {
            try {
                co_await with_timeout(1h, sleeping);
            } catch (const timed_out&) {
                FAIL("it was the outer one");
            }
        };
        bool is_timed_out = false;
        try {
            co_await with_timeout(2ms, long_inside);
        } catch (const timed_out&) {
            is_timed_out = true;
        }
        CHECK(is_timed_out);
    });
}

TEST_CASE("a stop from outside ends with_timeout with operation_canceled") {
    thread_pool pool(2);
    stop_state stop;
    gate never;
    auto running = begin_on(
        pool.get_executor(),
        [&]() -> coroutine<> {
            const auto waiting = [&]() -> coroutine<> { co_await never.wait(); };
            co_await with_timeout(24h, waiting);
        },
        &stop);
    until([&] { return never.waiting() == 1; });
    stop.request_stop();
    CHECK_THROWS_AS(running.get(), operation_canceled);
}

TEST_CASE("members that end while their alarm is set or rings") {
    thread_pool pool(2);
    std::atomic<int> in_time{0};
    std::atomic<int> late{0};
    const int count = rounds(3000);
    run_on(pool.get_executor(), [&]() -> coroutine<> {
        const auto one = [&]() -> coroutine<> {
            for (int i = 0; i != count; ++i) {
                const auto sleeping = [i]() -> coroutine<> {
                    co_await sleep_for(std::chrono::microseconds(i % 7));
                };
                bool is_late = false;
                try {
                    co_await with_timeout(std::chrono::microseconds(i % 5), sleeping);
                } catch (const timed_out&) {
                    is_late = true;
                }
                ++(is_late ? late : in_time);
            }
        };
        co_await when_all(one, one);
    });
    CHECK(in_time + late == 2 * count);
}

TEST_CASE("rule: clean-up after cancel can await: under shield, and leaving the shield sees the stop again") {
    thread_pool pool(2);
    stop_state stop;
    gate never;
    bool is_clean = false;
    bool is_stopped_again = false;
    auto running = begin_on(
        pool.get_executor(),
        [&]() -> coroutine<> {
            bool is_stopped = false;
            try {
                co_await never.wait();
            } catch (const operation_canceled&) {
                is_stopped = true;
            }
            CHECK(is_stopped);
            const auto cleaning = [&]() -> coroutine<int> {
                const environment& env = co_await get_environment();
                CHECK(env.stop == nullptr);
                co_await sleep_for(1ms);
                const auto step = []() -> coroutine<> { co_await sleep_for(1ms); };
                co_await with_timeout(24h, step);
                is_clean = true;
                co_return 9;
            };
            const int result = co_await shield(cleaning);
            CHECK(result == 9);
            try {
                co_await sleep_for(24h);
            } catch (const operation_canceled&) {
                is_stopped_again = true;
            }
        },
        &stop);
    until([&] { return never.waiting() == 1; });
    stop.request_stop();
    running.get();
    CHECK(is_clean);
    CHECK(is_stopped_again);
}

TEST_CASE("a deadline passes under a shield, and is seen behind it") {
    thread_pool pool(2);
    run_on(pool.get_executor(), []() -> coroutine<> {
        bool is_shielded_done = false;
        const auto slow = [&]() -> coroutine<> {
            const auto shielded = [&]() -> coroutine<> {
                co_await sleep_for(10ms);
                is_shielded_done = true;
            };
            co_await shield(shielded);
            co_await sleep_for(24h);
        };
        bool is_timed_out = false;
        try {
            co_await with_timeout(1ms, slow);
        } catch (const timed_out&) {
            is_timed_out = true;
        }
        CHECK(is_timed_out);
        CHECK(is_shielded_done);
    });
}

TEST_CASE("context destroyed with a coroutine under with_timeout") {
    std::atomic<int> ended{0};
    gate never;
    future<void> result;
    {
        loop_context loop;
        result = begin_on(loop.get_executor(), [&]() -> coroutine<> {
            const end_counter outer(ended);
            const auto waiting = [&]() -> coroutine<> {
                const end_counter inner(ended);
                co_await never.wait();
            };
            co_await with_timeout(24h, waiting);
        });
        loop.poll();
        CHECK(never.waiting() == 1);
    }
    CHECK(ended == 2);
    CHECK_THROWS_AS(result.get(), std::future_error);
}
