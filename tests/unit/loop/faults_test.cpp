// Loops, pools of loops and their timers when the system gives out no memory or no thread.
#include "../failing_allocations.hpp"
#include "../failing_threads.hpp"

#include <ekiden/execution/post.hpp>
#include <ekiden/loop/loop_context.hpp>
#include <ekiden/loop/loop_pool.hpp>
#include <ekiden/timer/steady_timer.hpp>

#include <doctest/doctest.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <memory>
#include <new>
#include <optional>
#include <system_error>
#include <thread>
#include <vector>

using ekiden::loop_context;
using ekiden::loop_pool;
using ekiden::steady_timer;
using ekiden_test::count_threads;
using ekiden_test::failing_allocation;
using ekiden_test::threads_until_failure;
using namespace std::chrono_literals;

TEST_CASE("A pool of loops for which the system refuses a thread ends those that have started, and throws") {
    const int before = count_threads(1);
    for (const int n : {0, 1, 3}) {
        threads_until_failure = n;
        CHECK_THROWS_AS(loop_pool({.threads = 4}), std::system_error);
        threads_until_failure = -1;
        CHECK(count_threads(before) == before);
    }
}

#if !defined(EKIDEN_TSAN)

namespace {

/// Calls `attempt` with the 0th, 1st, 2nd ... allocation failing, until one call meets no failure. Returns
/// how many have failed.
template <class Attempt>
int with_each_failure(Attempt attempt) {
    for (int n = 0;; ++n) {
        REQUIRE(n < 1000);
        if (!attempt(n)) return n;
    }
}

/// A function object too large for the recycler: each takes memory of its own.
struct large {
    std::shared_ptr<int> witness;
    std::array<std::byte, 512> padding{};
    void operator()() const { ++*witness; }
    void operator()(std::error_code) const { ++*witness; }
};

} // namespace

TEST_CASE("A loop for which there is no memory is not made, and leaves nothing behind") {
    for (const int hint : {1, 2, 100}) {
        loop_context(hint).run(); // what a first one leaves for the next
        const long live = ekiden_test::live_allocation_count();
        const int failures = with_each_failure([&](int n) {
            const failing_allocation failing(n);
            try {
                loop_context loop(hint);
                loop.run();
            } catch (const std::bad_alloc&) {
            }
            return failing.has_failed();
        });
        CHECK(failures > 0);
        CHECK(ekiden_test::live_allocation_count() == live);
    }
}

TEST_CASE("A pool of loops for which there is no memory is not made, and its threads have ended") {
    const int before = count_threads(1);
    const int failures = with_each_failure([&](int n) {
        bool has_failed = false;
        {
            const failing_allocation failing(n);
            try {
                loop_pool pool({.threads = 2});
            } catch (const std::bad_alloc&) {
            }
            has_failed = failing.has_failed();
        }
        REQUIRE(count_threads(before) == before);
        return has_failed;
    });
    CHECK(failures > 0);
}

TEST_CASE("A post to a loop for which there is no memory takes nothing, and all others are run once") {
    for (const int hint : {1, 2}) {
        const int failures = with_each_failure([&](int n) {
            loop_context loop(hint);
            const auto runs = std::make_shared<int>(0);
            int accepted = 0;
            bool has_failed = false;
            std::thread poster([&] { // a new one: it takes a ring, which grows
                const failing_allocation failing(n);
                for (int i = 0; i != 600; ++i) {
                    try {
                        if (i % 100 == 0)
                            ekiden::post(loop.get_executor(), large{runs});
                        else
                            ekiden::post(loop.get_executor(), [runs] { ++*runs; });
                        ++accepted;
                    } catch (const std::bad_alloc&) {
                    }
                }
                has_failed = failing.has_failed();
            });
            poster.join();
            CHECK(accepted == (has_failed ? 599 : 600));
            CHECK(runs.use_count() == 1 + accepted);
            CHECK(loop.run() == static_cast<std::size_t>(accepted));
            CHECK(*runs == accepted);
            CHECK(runs.use_count() == 1);
            return has_failed;
        });
        CHECK(failures > 0);
    }
}

TEST_CASE("A wait for which there is no memory holds no work of the loop, and the others end") {
    for (const int hint : {1, 2}) {
        const int failures = with_each_failure([&](int n) {
            loop_context loop(hint);
            const auto ends = std::make_shared<int>(0);
            int accepted = 0;
            bool has_failed = false;
            std::vector<std::optional<steady_timer>> timers(200);
            {
                const failing_allocation failing(n); // the service's, its tables', and the waits' own
                for (auto& timer : timers) {
                    try {
                        timer.emplace(loop.get_executor(), std::chrono::microseconds(1));
                        timer->async_wait(large{ends});
                        ++accepted;
                    } catch (const std::bad_alloc&) {
                    }
                }
                has_failed = failing.has_failed();
            }
            CHECK(accepted == (has_failed ? 199 : 200));
            CHECK(loop.run() == static_cast<std::size_t>(accepted)); // ends: no work is left over
            CHECK(*ends == accepted);
            CHECK(ends.use_count() == 1);
            return has_failed;
        });
        CHECK(failures > 0);
    }
}

#endif
