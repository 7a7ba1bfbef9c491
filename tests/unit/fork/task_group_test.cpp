#include <ekiden/fork/task_group.hpp>

#include <ekiden/context/held_locks.hpp>
#include <ekiden/pool/default_pool.hpp>
#include <ekiden/sync/mutex.hpp>
#include <ekiden/sys/clock.hpp>

#include <tests/unit/child_process.hpp>
#include <tests/unit/effort.hpp>
#include <tests/unit/posix.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <stop_token>
#include <system_error>
#include <thread>
#include <vector>

using ekiden::on_error;
using ekiden::task_group;
using namespace std::chrono_literals;

TEST_CASE("a task_group waits for its tasks and for those that they add, and can be used again") {
    ekiden::thread_pool pool({.threads = 2});
    task_group group(pool);
    std::atomic<int> calls = 0;
    group.wait(); // nothing to wait for
    for (int round = 1; round <= 100; ++round) {
        calls = 0;
        for (int i = 0; i != 10; ++i) {
            group.spawn([&] {
                ++calls;
                group.spawn([&, only = std::make_unique<int>(1)] { calls += *only; });
            });
        }
        group.wait();
        CHECK(calls == 20);
    }
    CHECK(ekiden::suppressed_exceptions().empty());
}

TEST_CASE("a task_group in a worker waits without blocking the pool") {
    ekiden::thread_pool pool({.threads = 1});
    auto sum = pool.submit([] {
        task_group group; // of this worker's pool
        std::atomic<int> calls = 0;
        for (int i = 0; i != 10; ++i) {
            group.spawn([&] {
                task_group inner;
                inner.spawn([&] { ++calls; });
                inner.wait();
            });
        }
        group.wait();
        return calls.load();
    });
    CHECK(sum.get() == 10);
    pool.wait_idle();
    CHECK(pool.metrics().tasks_run == 21);
}

TEST_CASE("a task_group throws the first exception and suppresses the others") {
    ekiden::thread_pool pool({.threads = 2});
    task_group group(pool);
    std::atomic<int> calls = 0;
    for (int i = 0; i != 10; ++i) {
        group.spawn([&, i] {
            ++calls;
            if (i % 2 == 0) throw std::runtime_error("even");
        });
    }
    CHECK_THROWS_WITH_AS(group.wait(), "even", std::runtime_error);
    CHECK(calls == 10);
    CHECK(ekiden::suppressed_exceptions().size() == 4);
    group.spawn([&] { ++calls; });
    group.wait();
    CHECK(ekiden::suppressed_exceptions().empty());
    CHECK(calls == 11);
}

TEST_CASE("a task_group that stops on error drops what has not begun") {
    ekiden::thread_pool pool({.threads = 1});
    task_group group(pool, on_error::stop_rest);
    std::atomic<int> calls = 0;
    pool.pause();
    group.spawn([] { throw std::runtime_error("first"); });
    for (int i = 0; i != 10; ++i) group.spawn([&] { ++calls; });
    pool.resume();
    CHECK_THROWS_AS(group.wait(), std::runtime_error);
    CHECK(calls == 0);
    CHECK(ekiden::suppressed_exceptions().empty());
    CHECK_FALSE(group.stop_requested()); // wait() has ended that
    group.spawn([&] { ++calls; });
    group.wait();
    CHECK(calls == 1);
}

TEST_CASE("the tasks of a task_group see a stop request in their token") {
    ekiden::thread_pool pool({.threads = 1});
    task_group group(pool);
    std::atomic<bool> runs = false;
    std::atomic<bool> saw_it = false;
    group.spawn([&](std::stop_token token) {
        runs = true;
        const auto deadline = std::chrono::steady_clock::now() + 20s;
        while (!token.stop_requested() && std::chrono::steady_clock::now() < deadline)
            std::this_thread::yield();
        saw_it = token.stop_requested();
    });
    while (!runs) std::this_thread::yield();
    CHECK(group.request_stop());
    CHECK_FALSE(group.request_stop());
    group.wait();
    CHECK(saw_it);
}

TEST_CASE("a task_group reports that a stopped pool has dropped its tasks") {
    ekiden::thread_pool pool({.threads = 1});
    task_group group(pool);
    std::atomic<int> calls = 0;
    pool.pause();
    for (int i = 0; i != 3; ++i) group.spawn([&] { ++calls; });
    pool.stop();
    CHECK_THROWS_AS(group.wait(), std::system_error);
    CHECK(calls == 0);
    group.spawn([&] { ++calls; }); // refused at once
    CHECK_THROWS_AS(group.wait(), std::system_error);
    CHECK(calls == 0);
}

TEST_CASE("a task_group is unchanged when spawn throws") {
    struct bad_copy {
        bad_copy() = default;
        bad_copy(const bad_copy&) { throw std::runtime_error("copy"); }
        void operator()() const {}
    };
    ekiden::thread_pool pool({.threads = 1});
    task_group group(pool);
    const bad_copy bad;
    CHECK_THROWS_WITH(group.spawn(bad), "copy");
    CHECK_THROWS_AS(group.spawn(std::function<void()>()), std::invalid_argument);
    group.wait();
}

TEST_CASE("the destructor of a task_group waits and drops exceptions") {
    ekiden::thread_pool pool({.threads = 2});
    std::atomic<int> calls = 0;
    for (int round = 0; round != 50; ++round) {
        task_group group(pool);
        for (int i = 0; i != 4; ++i) {
            group.spawn([&] {
                ++calls;
                throw std::runtime_error("dropped");
            });
        }
    }
    CHECK(calls == 200);
}

TEST_CASE("a task_group outside of any pool uses the default pool") {
    task_group group;
    bool in_pool = false;
    group.spawn([&] { in_pool = ekiden::default_pool().running_in_this_thread(); });
    group.wait();
    CHECK(in_pool);
}

TEST_CASE("a task_group loses no task that other threads add while its wait ends") {
    const auto rounds = static_cast<std::size_t>(ekiden_test::rounds(10'000));
    ekiden::thread_pool pool({.threads = 2});
    std::vector<std::atomic<int>> runs(2 * rounds);
    std::atomic<std::size_t> added[2]{};
    task_group group(pool);
    const auto add = [&](std::size_t from) {
        for (std::size_t i = 0; i != rounds; ++i) {
            group.spawn([&runs, at = from * rounds + i] { ++runs[at]; });
            added[from].store(i + 1);
            // So that the group has no task now and then.
            for (std::size_t pause = i % 64 * 32; pause != 0; --pause) ekiden::sys::spin_hint();
        }
    };
    std::thread one(add, 0);
    std::thread two(add, 1);
    std::size_t missed = 0;
    std::size_t looked[2]{};
    while (looked[0] != rounds || looked[1] != rounds) {
        group.spawn([] { // so long that the waiting thread sleeps, and takes its time to wake up
            const auto end = std::chrono::steady_clock::now() + 40us;
            while (std::chrono::steady_clock::now() < end) ekiden::sys::spin_hint();
        });
        const std::size_t before[] = {added[0].load(), added[1].load()};
        group.wait();
        for (std::size_t from = 0; from != 2; ++from) {
            for (; looked[from] != before[from]; ++looked[from])
                missed += runs[from * rounds + looked[from]] != 1;
        }
    }
    one.join();
    two.join();
    CHECK(missed == 0);
}

TEST_CASE("a task_group on the stack may end right after its wait") {
    const int rounds = ekiden_test::rounds(5000);
    ekiden::thread_pool pool({.threads = 2});
    for (int round = 0; round != rounds; ++round) {
        auto group = std::make_unique<task_group>(pool);
        std::atomic<int> calls = 0;
        for (int i = 0; i != 3; ++i) group->spawn([&] { ++calls; });
        group->wait();
        group.reset();
        REQUIRE(calls == 3);
    }
}

TEST_CASE("other threads stop a task_group and take tokens while its wait ends") {
    const int rounds = ekiden_test::rounds(5000);
    ekiden::thread_pool pool({.threads = 2});
    task_group group(pool);
    std::atomic<bool> over = false;
    std::atomic<int> requests = 0;
    std::thread stopper([&] {
        while (!over) {
            const std::stop_token token = group.get_stop_token();
            if (group.request_stop()) ++requests;
            requests += token.stop_requested() && !token.stop_possible(); // never: reads the token
            (void)group.stop_requested();
            std::this_thread::yield();
        }
    });
    while (requests == 0) std::this_thread::yield(); // it has begun
    std::atomic<int> entered = 0;
    for (int round = 0; round != rounds; ++round) {
        for (int i = 0; i != 3; ++i)
            group.spawn([&](const std::stop_token& token) { entered += token.stop_possible(); });
        group.wait();
    }
    over = true;
    stopper.join();
    group.wait();
    CHECK_FALSE(group.stop_requested());
    CHECK_FALSE(group.get_stop_token().stop_requested());
    CHECK(entered <= 3 * rounds);
}

TEST_CASE("a run of a task_group that throws while another thread waits leaves no trace") {
    struct bad_copy {
        bad_copy() = default;
        bad_copy(const bad_copy&) { throw std::runtime_error("copy"); }
        void operator()() const {}
    };
    const int rounds = ekiden_test::rounds(5000);
    ekiden::thread_pool pool({.threads = 2});
    task_group group(pool);
    std::atomic<bool> over = false;
    std::thread adder([&] {
        const bad_copy bad;
        for (int round = 0; round != rounds; ++round) {
            try {
                group.spawn(bad);
            } catch (const std::runtime_error&) {
            }
        }
        over = true;
    });
    int thrown = 0;
    while (!over) {
        group.spawn([] {});
        try {
            group.wait();
        } catch (const std::system_error&) {
            ++thrown;
        }
    }
    adder.join();
    group.wait();
    CHECK(thrown == 0);
    pool.stop();
    group.spawn([] {});
    CHECK_THROWS_AS(group.wait(), std::system_error); // it still counts those that the pool has dropped
}

TEST_CASE("A wait for a group under a lock is reported where the locks are checked") {
    if (!ekiden::lock_checks) return;
    const auto child = ekiden_test::run_in_child([] {
        ekiden::thread_pool pool({.threads = 1});
        ekiden::mutex held;
        pool.submit([&] {
                ekiden::task_group inner(pool);
                inner.spawn([] {}); // queued: this is the only worker
                const std::lock_guard guard(held);
                inner.wait();
            })
            .get();
    });
    CHECK(child.signal == SIGABRT);
    CHECK(child.error_output
          == "ekiden: task_group::wait: this thread waits for the work of others while it holds a mutex\n");
}
