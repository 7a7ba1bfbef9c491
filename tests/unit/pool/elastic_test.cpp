#include "../child_process.hpp"
#include "../eventually.hpp"
#include <ekiden/pool/blocking_region.hpp>
#include <ekiden/pool/thread_pool.hpp>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <doctest/doctest.h>
#include <latch>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace ekiden;
using ekiden_test::eventually;
using namespace std::chrono_literals;

thread_pool_options elastic(unsigned threads, unsigned most) {
    return {.threads = threads, .max_threads = most, .keep_alive = 50ms, .watch_interval = 0ms};
}

std::atomic<int> threads_alive{0};
std::atomic<int> most_alive{0};

/// Counts the threads that have run a task and have not ended. Such a thread takes long to end.
struct slow_end {
    slow_end() {
        const int now = ++threads_alive;
        for (int most = most_alive; most < now && !most_alive.compare_exchange_weak(most, now);) {
        }
    }
    slow_end(const slow_end&) = delete;
    slow_end& operator=(const slow_end&) = delete;
    ~slow_end() {
        std::this_thread::sleep_for(10ms);
        --threads_alive;
    }
};

} // namespace

TEST_CASE("A task that waits in a blocking region for the ones behind it gets the threads they need") {
    constexpr int count = 16;
    thread_pool pool(elastic(1, count));
    std::latch all_there(count);
    for (int i = 0; i != count; ++i) {
        pool.post([&] {
            const blocking_region region;
            all_there.arrive_and_wait();
        });
    }
    pool.wait_idle();
    CHECK(all_there.try_wait());
    CHECK(pool.metrics().peak_threads == count);
    CHECK(eventually([&] { return pool.metrics().threads == 1; }));
    CHECK(pool.metrics().tasks_run == count);
}

TEST_CASE("block returns what the call returns, a reference too, and lets its exception through") {
    thread_pool pool(elastic(1, 2));
    int there = 1;
    CHECK(&block([&]() -> int& { return there; }) == &there); // no worker: nothing but the call
    future<int> f = pool.submit([&] { return block([] { return 7; }); });
    CHECK(f.get() == 7);
    future<void> g = pool.submit([&] { block([] { throw std::runtime_error("from inside"); }); });
    CHECK_THROWS_WITH_AS(g.get(), "from inside", std::runtime_error);
    CHECK(eventually([&] { return pool.metrics().threads_blocked == 0; }));
}

TEST_CASE("Regions inside a region count once") {
    thread_pool pool(elastic(1, 8));
    pool.submit([&] {
            const blocking_region outer;
            {
                const blocking_region inner;
                CHECK(pool.metrics().threads_blocked == 1);
            }
            CHECK(pool.metrics().threads_blocked == 1);
        })
        .get();
    CHECK(pool.metrics().peak_threads == 2);
    CHECK(pool.metrics().threads_blocked == 0);
}

TEST_CASE("A fixed pool does not grow, and shows that it is saturated") {
    thread_pool pool({.threads = 2});
    std::latch release(1);
    for (int i = 0; i != 2; ++i) {
        pool.post([&] { block([&] { release.wait(); }); });
    }
    CHECK(eventually([&] { return pool.metrics().threads_blocked == 2; }));
    CHECK(pool.metrics().is_saturated);
    CHECK(pool.metrics().threads == 2);
    release.count_down();
    pool.wait_idle();
    CHECK(!pool.metrics().is_saturated);
    CHECK(pool.metrics().peak_threads == 2);
}

TEST_CASE("Threads that come back to a full pool stand by, and no more than the base run tasks") {
    constexpr unsigned base = 2;
    constexpr int blockers = 12;
    thread_pool pool({.threads = base, .max_threads = 64, .keep_alive = 10min, .watch_interval = 0ms});
    std::latch all_there(blockers);
    std::atomic<int> running{0};
    std::atomic<int> most{0};
    std::atomic<int> back{0};
    for (int i = 0; i != blockers; ++i) {
        pool.post([&] {
            block([&] { all_there.arrive_and_wait(); });
            back.fetch_add(1);
        });
    }
    CHECK(eventually([&] { return back.load() == blockers; }));
    for (int i = 0; i != 400; ++i) {
        pool.post([&] {
            const int now = running.fetch_add(1) + 1;
            int before = most.load();
            while (now > before && !most.compare_exchange_weak(before, now)) {
            }
            std::this_thread::sleep_for(100us);
            running.fetch_sub(1);
        });
    }
    pool.wait_idle();
    // One more for a moment: a worker runs before the one that woke it has taken it off the sleepers' count.
    CHECK(most.load() <= static_cast<int>(base) + 1);
    CHECK(pool.metrics().threads >= blockers);
    CHECK(pool.metrics().tasks_run == blockers + 400);
}

TEST_CASE("The tasks that a blocked worker has claimed or posted are run by others") {
    thread_pool pool(elastic(1, 2));
    std::latch done(100);
    pool.post([&] {
        for (int i = 0; i != 50; ++i) pool.post([&] { done.count_down(); });
        block([&] { done.wait(); });
    });
    for (int i = 0; i != 50; ++i) pool.post([&] { done.count_down(); });
    pool.wait_idle();
    CHECK(done.try_wait());
}

TEST_CASE("Stop and join wait for blocked tasks and end the threads that stand by") {
    for (const bool abandon : {false, true}) {
        std::atomic<int> ended{0};
        std::latch all_there(8);
        {
            thread_pool pool({.threads = 1, .max_threads = 8, .keep_alive = 10min, .watch_interval = 0ms});
            for (int i = 0; i != 8; ++i) {
                pool.post([&] {
                    block([&] { all_there.arrive_and_wait(); });
                    block([&] { std::this_thread::sleep_for(5ms); });
                    ended.fetch_add(1);
                });
            }
            CHECK(eventually([&] { return all_there.try_wait(); }));
            if (abandon) pool.stop();
        }
        CHECK(ended.load() == 8);
    }
}

TEST_CASE("Growing and shrinking again and again loses no task") {
    thread_pool pool({.threads = 2, .max_threads = 16, .keep_alive = 1ms, .watch_interval = 1ms});
    std::atomic<int> ran{0};
    int posted = 0;
    for (int round = 0; round != 50; ++round) {
        for (int i = 0; i != 40; ++i, ++posted) {
            pool.post([&, i] {
                if (i % 3 == 0) block([] { std::this_thread::sleep_for(200us); });
                ran.fetch_add(1, std::memory_order_relaxed);
            });
        }
        pool.wait_idle();
        CHECK(ran.load() == posted);
        if (round % 5 == 0) std::this_thread::sleep_for(3ms);
    }
    CHECK(eventually([&] { return pool.metrics().threads == 2; }));
}

#if defined(__linux__)
TEST_CASE("Tasks that block without saying so are found by the watch") {
    constexpr int count = 8;
    thread_pool pool({.threads = 1, .max_threads = count, .keep_alive = 50ms, .watch_interval = 2ms});
    std::latch all_there(count);
    for (int i = 0; i != count; ++i) pool.post([&] { all_there.arrive_and_wait(); });
    pool.wait_idle();
    CHECK(pool.metrics().peak_threads == count);
    CHECK(eventually([&] { return pool.metrics().threads == 1 && pool.metrics().threads_blocked == 0; }));
}

TEST_CASE("A saturated pool reports what its threads wait for, once") {
    std::mutex lock;
    std::vector<stall_report> reports;
    thread_pool pool(
        {.threads = 1, .max_threads = 2, .watch_interval = 1ms, .on_stall = [&](const stall_report& report) {
             const std::lock_guard guard(lock);
             reports.push_back(report);
         }});
    std::latch release(1);
    pool.pause(); // so that all four are there when the first one blocks
    for (int i = 0; i != 3; ++i) {
        pool.post([&] {
            const blocking_region region("the third task");
            release.wait();
        });
    }
    pool.post([] {});
    pool.resume();
    CHECK(eventually([&] {
        const std::lock_guard guard(lock);
        return !reports.empty();
    }));
    release.count_down();
    pool.join();
    REQUIRE(reports.size() == 1);
    CHECK(reports[0].why == stall_report::reason::saturated);
    REQUIRE(reports[0].threads.size() == 2);
    CHECK(reports[0].threads[1].waits_for == "the third task");
    CHECK(reports[0].threads[1].task.find("lambda") != std::string::npos);
    CHECK(reports[0].tasks_pending == 4);
    CHECK(reports[0].text().find("thread 1 runs") != std::string::npos);
    CHECK(pool.metrics().stalls == 1);
}
#endif

namespace {

/// Two tasks that wait for each other's results.
struct circle {
    future<int> first, second;
    const int participants;
    std::latch both_there;

    /// With a `count` of three, the tasks begin at the same time.
    circle(thread_pool& pool, std::chrono::milliseconds patience, int count)
        : participants(count), both_there(count) {
        first = pool.submit([this, patience] {
            begin();
            return patience.count() == 0 ? second.get() : static_cast<int>(second.wait_for(patience));
        });
        second = pool.submit([this] {
            begin();
            return first.get() + 1;
        });
        both_there.count_down();
    }

    void begin() {
        if (participants == 1)
            both_there.wait();
        else
            both_there.arrive_and_wait();
    }
};

} // namespace

TEST_CASE("Tasks that wait for each other's results are reported, with who waits for whom") {
    for (const unsigned threads : {1U, 2U, 3U}) {
        const auto child = ekiden_test::run_in_child([threads] {
            thread_pool pool({.threads = threads, .on_stall = [](const stall_report& report) {
                                  std::fputs(report.text().c_str(), stderr);
                                  std::_Exit(report.why == stall_report::reason::deadlocked ? 42 : 1);
                              }});
            circle never(pool, 0ms, 1);
            never.second.get();
        });
        CHECK(child.exit_code == 42);
        CHECK(child.error_output.find("in a circle") != std::string::npos);
        CHECK(child.error_output.find("waits for") != std::string::npos);
        CHECK(child.error_output.find("lambda") != std::string::npos);
        CHECK(child.error_output.find("2 tasks are queued or running") != std::string::npos);
    }
}

TEST_CASE("A circle is reported once, also when its threads wake up for other work") {
    const auto child = ekiden_test::run_in_child([] {
        static std::atomic<int> reports{0};
        std::atomic<int> ran{0};
        thread_pool pool({.threads = 2, .on_stall = [](const stall_report&) { ++reports; }});
        const circle never(pool, 0ms, 1);
        while (reports == 0) std::this_thread::yield();
        for (int i = 0; i != 100; ++i) { // each wakes one of the two, which sleeps again
            std::this_thread::sleep_for(200us);
            pool.post([&ran] { ++ran; });
        }
        while (ran != 100) std::this_thread::yield();
        std::this_thread::sleep_for(20ms);
        std::_Exit(reports);
    });
    CHECK(child.exit_code == 1);
}

TEST_CASE("A wait that ends in time is in no circle") {
    std::atomic<int> reports{0};
    thread_pool pool(
        {.threads = 2, .watch_interval = 0ms, .on_stall = [&](const stall_report&) { ++reports; }});
    circle timed(pool, 100ms, 3);
    CHECK(timed.second.get() == 1);
    CHECK(reports.load() == 0);
}

TEST_CASE("Bad options are refused with the argument, its value and what is allowed") {
    CHECK_THROWS_WITH_AS(thread_pool({.threads = 4, .max_threads = 3}),
                         "thread_pool: max_threads is 3, allowed is 0 (as threads) and 4 (threads) to 4096",
                         std::invalid_argument);
    CHECK_THROWS_AS(thread_pool({.threads = 4, .max_threads = 4097}), std::invalid_argument);
    CHECK_THROWS_AS(thread_pool({.threads = 1, .keep_alive = -1ms}), std::invalid_argument);
    CHECK_THROWS_AS(thread_pool({.threads = 1, .watch_interval = -1ms}), std::invalid_argument);
    CHECK_THROWS_WITH_AS(thread_pool({.threads = 1, .spin_time = -1us}),
                         "thread_pool: spin_time is -1 us, allowed is 0 us to 10 s", std::invalid_argument);
    CHECK_THROWS_AS(thread_pool({.threads = 1, .spin_time = std::chrono::microseconds::max()}),
                    std::invalid_argument);
}

TEST_CASE("The longest keep_alive and watch_interval that there are overflow nowhere") {
    thread_pool pool({.threads = 1,
                      .max_threads = 2,
                      .keep_alive = std::chrono::milliseconds::max(),
                      .watch_interval = std::chrono::milliseconds::max()});
    std::atomic<bool> ran{false};
    pool.post([&] {
        const blocking_region region;
        while (!ran.load()) std::this_thread::yield();
    });
    pool.post([&] { ran = true; });
    pool.wait_idle();
    std::this_thread::sleep_for(10ms); // the watch looks for the first time
}

TEST_CASE("Threads that retire faster than they end do not pile up") {
    constexpr int most = 4;
    {
        auto options = elastic(2, most);
        options.keep_alive = 0ms;
        thread_pool pool(options);
        for (int round = 0; round != 100; ++round) {
            for (int i = 0; i != 8; ++i) {
                pool.post([] {
                    thread_local const slow_end counted;
                    const blocking_region region;
                });
            }
            pool.wait_idle();
        }
    }
    CHECK(most_alive.load() <= 2 * most + 1); // each thread that has a place may wait for one that ends
    CHECK(threads_alive.load() == 0);
}
