#include <ekiden/future/future.hpp>
#include <ekiden/loop/loop_pool.hpp>
#include <ekiden/sys/thread.hpp>
#include <ekiden/sys/topology.hpp>
#include <ekiden/timer/steady_timer.hpp>

#include <tests/unit/affinity.hpp>
#include <tests/unit/child_process.hpp>
#include <tests/unit/effort.hpp>
#include <tests/unit/posix.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <latch>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

using ekiden::loop_pool;
using namespace std::chrono_literals;

TEST_CASE(
    "Each loop of a pool has a thread of its own, with a name, on a processor of its own if asked for") {
    EKIDEN_SKIP_ON_MACOS("a program cannot choose processors");
    loop_pool pool({.threads = 3, .name = "lp", .is_pinned = true});
    CHECK(pool.size() == 3);
    std::set<std::thread::id> threads;
    for (unsigned i = 0; i != 3; ++i) {
        auto seen = pool.get_executor(i).submit([] {
            return std::tuple(std::this_thread::get_id(), ekiden::sys::this_thread_name(),
                              ekiden_test::processors_of_this_thread());
        });
        const auto [id, name, processors] = seen.get();
        threads.insert(id);
        CHECK(name == "lp-" + std::to_string(i));
        CHECK(processors == 1);
    }
    CHECK(threads.size() == 3);
}

TEST_CASE("Without options there is one loop per usable processor") {
    loop_pool pool;
    CHECK(pool.size() == ekiden::sys::usable_concurrency());
}

TEST_CASE("get_executor takes one loop after the other, get_executor_for always the same for a key") {
    loop_pool pool({.threads = 4});
    for (unsigned i = 0; i != 9; ++i) CHECK(pool.get_executor() == pool.get_executor(i % 4));
    std::vector<int> keys(4, 0);
    for (int key = 0; key != 4000; key += 4) { // multiples of the number of threads
        const auto executor = pool.get_executor_for(key);
        CHECK(executor == pool.get_executor_for(key));
        for (unsigned i = 0; i != 4; ++i) keys[i] += executor == pool.get_executor(i);
    }
    for (const int count : keys) CHECK(count > 150);
    CHECK(pool.get_executor_for(std::string("a")) == pool.get_executor_for(std::string("a")));
    CHECK_THROWS_WITH_AS((void)pool.get_executor(4), "loop_pool::get_executor: index is 4, allowed is 0 to 3",
                         std::out_of_range);
}

TEST_CASE("The tasks of a key run in the order of posting, on one thread") {
    loop_pool pool({.threads = 2});
    const int count = ekiden_test::rounds(10'000);
    std::vector<int> next(8, 0);
    std::atomic<int> wrong{0};
    for (int i = 0; i != count; ++i) {
        for (int key = 0; key != 8; ++key) {
            pool.get_executor_for(key).post([&next, &wrong, key, i] {
                if (next[static_cast<std::size_t>(key)]++ != i) wrong.fetch_add(1);
            });
        }
    }
    pool.join();
    CHECK(wrong.load() == 0);
    for (const int n : next) CHECK(n == count);
}

TEST_CASE("join runs what is queued, and all that comes of it, on whichever thread") {
    for (int round = 0; round != ekiden_test::rounds(200); ++round) {
        loop_pool pool({.threads = 3});
        std::atomic<int> ran{0};
        std::function<void(int)> hop = [&](int rest) {
            ran.fetch_add(1);
            if (rest != 0) pool.get_executor().post([&hop, rest] { hop(rest - 1); });
        };
        for (int i = 0; i != 3; ++i) pool.get_executor().post([&] { hop(20); });
        pool.join();
        CHECK(ran.load() == 3 * 21);
        pool.join(); // again: nothing
    }
}

TEST_CASE("join waits for outstanding work, also while that needs other threads of the pool") {
    for (int round = 0; round != ekiden_test::rounds(100); ++round) {
        std::atomic<int> ran{0};
        std::thread elsewhere;
        {
            loop_pool pool({.threads = 2});
            const auto a = pool.get_executor(0);
            const auto b = pool.get_executor(1);
            a.post([&, a, b] {
                a.on_work_started();
                elsewhere = std::thread([&, a, b] {
                    if (round % 2 == 0) std::this_thread::sleep_for(100us);
                    b.post([&, a] {
                        ran.fetch_add(1);
                        a.post([&] { ran.fetch_add(1); });
                        a.on_work_finished();
                    });
                });
            });
        }
        CHECK(ran.load() == 2);
        elsewhere.join();
    }
}

TEST_CASE("join waits for a timer that a task starts on another loop of the pool") {
    for (int round = 0; round != ekiden_test::rounds(20); ++round) {
        std::optional<ekiden::steady_timer> timer;
        std::atomic<int> ran{0};
        {
            loop_pool pool({.threads = 2});
            timer.emplace(pool.get_executor(1));
            pool.get_executor(0).post([&] {
                std::this_thread::sleep_for(1ms); // join() waits meanwhile
                timer->expires_after(5ms);
                timer->async_wait([&](std::error_code error) { ran.fetch_add(error ? 0 : 1); });
            });
            pool.join();
            CHECK(ran.load() == 1);
            timer.reset();
        }
    }
}

TEST_CASE("join waits for work on another loop that a task leaves to a thread of the program") {
    for (int round = 0; round != ekiden_test::rounds(20); ++round) {
        std::atomic<int> ran{0};
        std::thread elsewhere;
        {
            loop_pool pool({.threads = 2});
            const auto there = pool.get_executor(1);
            pool.get_executor(0).post([&, there] {
                std::this_thread::sleep_for(1ms); // join() waits meanwhile
                there.on_work_started();
                elsewhere = std::thread([&, there] {
                    std::this_thread::sleep_for(5ms);
                    there.post([&] { ran.fetch_add(1); });
                    there.on_work_finished();
                });
            });
            pool.join();
            CHECK(ran.load() == 1);
            elsewhere.join();
        }
    }
}

TEST_CASE("join waits for work that moves from loop to loop, and ends only when none is left") {
    for (int round = 0; round != ekiden_test::rounds(50); ++round) {
        static constexpr unsigned loops = 3;
        constexpr int hops = 30;
        std::atomic<int> ran{0};
        loop_pool pool({.threads = loops});
        // Each task begins work on the next loop, and posts to the one after that, which ends the work.
        std::function<void(unsigned, int)> hop = [&](unsigned here, int rest) {
            ran.fetch_add(1);
            if (rest == 0) return;
            const auto guarded = pool.get_executor((here + 1) % loops);
            guarded.on_work_started();
            pool.get_executor((here + 2) % loops).post([&hop, guarded, here, rest] {
                hop((here + 2) % loops, rest - 1);
                guarded.on_work_finished();
            });
        };
        pool.get_executor(0).post([&] { hop(0, hops); });
        pool.join();
        CHECK(ran.load() == hops + 1);
    }
}

TEST_CASE("stop leaves what is queued, which is destroyed with the pool") {
    auto token = std::make_shared<int>(0);
    {
        loop_pool pool({.threads = 2});
        std::latch inside(2);
        std::latch posted(1);
        for (unsigned i = 0; i != 2; ++i) {
            pool.get_executor(i).post([&, i] {
                inside.arrive_and_wait();
                if (i == 0) pool.stop();
                posted.wait(); // a thread between two tasks might begin one more
            });
        }
        inside.wait();
        pool.stop();
        for (unsigned i = 0; i != 2; ++i) pool.get_executor(i).post([token] { ++*token; });
        posted.count_down();
        pool.join();
        CHECK(*token == 0);
    }
    CHECK(token.use_count() == 1);
}

TEST_CASE("stop ends a join that waits for work, or for a task's successors") {
    for (int round = 0; round != ekiden_test::rounds(100); ++round) {
        loop_pool pool({.threads = 2});
        const auto executor = pool.get_executor(0);
        if (round % 2 == 0) executor.on_work_started();
        std::function<void()> forever = [&] { pool.get_executor().post([&] { forever(); }); };
        if (round % 2 == 1) forever();
        std::thread stopper([&] {
            if (round % 3 == 0) std::this_thread::sleep_for(100us);
            pool.stop();
        });
        pool.join();
        stopper.join();
    }
}

TEST_CASE("join does not wait for a loop that was stopped by itself, and runs what the others have") {
    for (const bool before : {true, false}) {
        std::atomic<int> ran{0};
        loop_pool pool({.threads = 3});
        const auto stopped = pool.get_executor(1);
        const auto other = pool.get_executor(2);
        std::atomic<bool> is_stopped{false};
        stopped.post([&] {
            for (int i = 0; i != 100; ++i) other.post([&] { ran.fetch_add(1); });
            if (!before) std::this_thread::sleep_for(std::chrono::milliseconds(1)); // join() waits meanwhile
            stopped.context().stop();
            is_stopped.store(true);
        });
        while (before && !is_stopped.load()) std::this_thread::yield();
        stopped.post([&] { ran.fetch_add(1000); }); // may be run if it is posted in time
        pool.join();
        CHECK(ran.load() % 1000 == 100);
        pool.join();
    }
}

TEST_CASE("A task's exception goes to the pool's handler, and the loop goes on") {
    std::atomic<int> handled{0};
    std::string name;
    loop_pool pool({.threads = 1, .on_unhandled_exception = [&](std::exception_ptr, std::string_view type) {
                        name = type;
                        handled.fetch_add(1);
                    }});
    struct thrower {
        void operator()() const { throw std::runtime_error("x"); }
    };
    pool.get_executor(0).post(thrower());
    CHECK(pool.get_executor(0).submit([] { return 1; }).get() == 1);
    CHECK(handled.load() == 1);
    CHECK(name.find("thrower") != std::string::npos);
}

TEST_CASE("Without a handler a task's exception ends the program, and is shown") {
    const auto child = ekiden_test::run_in_child([] {
        loop_pool pool({.threads = 1});
        pool.get_executor(0).post([] { throw std::runtime_error("so it goes"); });
        pool.join();
    });
    CHECK(child.signal == SIGABRT);
    CHECK(child.error_output.find("so it goes") != std::string::npos);
}

TEST_CASE("Tasks that are dropped with the pool may post to any of its loops") {
    auto token = std::make_shared<int>(0);
    {
        loop_pool pool({.threads = 3});
        pool.stop();
        for (unsigned i = 0; i != 3; ++i) {
            std::shared_ptr<void> at_end(nullptr, [&pool, token](void*) {
                for (unsigned k = 0; k != 3; ++k) pool.get_executor(k).post([token] { ++*token; });
            });
            pool.get_executor(i).post([at_end = std::move(at_end)] {});
        }
    }
    CHECK(*token == 0);
    CHECK(token.use_count() == 1);
}

TEST_CASE("join in a thread of the pool is refused, and so are too many threads") {
    loop_pool pool({.threads = 1});
    const bool was_refused = pool.get_executor(0)
                                 .submit([&] {
                                     try {
                                         pool.join();
                                         return false;
                                     } catch (const std::system_error& e) {
                                         return e.code() == std::errc::resource_deadlock_would_occur;
                                     }
                                 })
                                 .get();
    CHECK(was_refused);
    CHECK_THROWS_WITH_AS(loop_pool({.threads = 5000}),
                         "loop_pool: threads is 5000, allowed is 0 (one per usable processor) to 4096",
                         std::invalid_argument);
}

TEST_CASE("In the child of a fork a pool of loops does not hang") {
    EKIDEN_SKIP_ON_WINDOWS("there is no fork()");
    if (!ekiden_test::can_child_start_threads()) return;
    loop_pool pool({.threads = 2});
    pool.get_executor(0).submit([] {}).get();
    const auto child = ekiden_test::run_in_child([&] {
        bool is_right = false;
        try {
            pool.join();
        } catch (const std::system_error& e) {
            is_right = e.code() == std::errc::operation_not_permitted;
        }
        pool.stop();
        if (!ekiden_test::is_sanitized) { // ThreadSanitizer starts no threads in a child
            loop_pool fresh({.threads = 2});
            is_right = is_right && fresh.get_executor(1).submit([] { return 4; }).get() == 4;
        }
        pool.~loop_pool();
        std::_Exit(is_right ? 0 : 1);
    });
    CHECK(child.exit_code == 0);
}
