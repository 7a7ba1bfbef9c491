// Very many timers that are awaited, most of them stopped by another thread.
#include "../effort.hpp"
#include "lock_support.hpp"

#include <ekiden/async/detail/stop_state.hpp>
#include <ekiden/async/sleep.hpp>
#include <ekiden/pool/thread_pool.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <deque>
#include <memory>
#include <thread>
#include <vector>

using namespace ekiden;
using ekiden_test::until;
using lock_support::spawner;
using namespace std::chrono_literals;
using steady = std::chrono::steady_clock;

TEST_CASE("rule: of 1e5 awaited timers 99 % are canceled from another thread, and all end once: canceled, or "
          "in time") {
    const auto n = static_cast<std::size_t>(ekiden_test::rounds(100'000));
    struct sleeper {
        stop_state stop;
        std::atomic<int> slept{0};
        std::atomic<int> canceled{0};
    };
    std::deque<sleeper> all(n);
    std::atomic<std::size_t> asleep{0};
    std::atomic<int> early{0};
    {
        thread_pool pool(2);
        spawner coroutines(pool.get_executor());
        for (std::size_t i = 0; i != n; ++i) {
            sleeper& one = all[i];
            // One in a hundred is due soon and not stopped; some of those that are may be due as they are.
            const steady::duration length = i % 100 < 3 ? steady::duration(1ms * (i % 50)) : 24h;
            coroutines.spawn(pool.get_executor(), &one.stop, [&, length]() -> coroutine<> {
                const auto begin = steady::now();
                ++asleep;
                bool is_canceled = false;
                try {
                    co_await sleep_until(begin + length);
                } catch (const operation_canceled&) {
                    is_canceled = true;
                }
                if (!is_canceled && steady::now() < begin + length) ++early;
                ++(is_canceled ? one.canceled : one.slept);
            });
        }
        // The first half while coroutines still begin.
        std::thread stopper([&] {
            until([&] { return asleep > n / 2; });
            for (std::size_t i = 0; i != n; ++i) {
                if (i % 100 != 0) all[i].stop.request_stop();
            }
        });
        stopper.join();
        coroutines.join();
    }
    std::size_t once = 0;
    std::size_t as_told = 0;
    for (std::size_t i = 0; i != n; ++i) {
        const sleeper& one = all[i];
        once += one.slept + one.canceled == 1 ? 1U : 0U;
        as_told += i % 100 == 0 ? one.slept == 1 : i % 100 < 3 || one.canceled == 1;
    }
    CHECK(once == n);
    CHECK(as_told == n);
    CHECK(early == 0);
}
