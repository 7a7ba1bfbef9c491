// Several threads inside one context, and others that post, stop and end work at the same time.
#include <ekiden/execution/work_guard.hpp>
#include <ekiden/future/promise.hpp>
#include <ekiden/loop/loop_context.hpp>

#include <tests/unit/effort.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <latch>
#include <memory>
#include <thread>
#include <vector>

using ekiden::loop_context;
using namespace std::chrono_literals;

namespace {

/// Runs `body(i)` in `count` threads, and waits for their end.
template <class F>
void in_threads(int count, F body) {
    std::vector<std::thread> threads;
    for (int i = 0; i != count; ++i) threads.emplace_back([&body, i] { body(i); });
    for (std::thread& t : threads) t.join();
}

} // namespace

TEST_CASE("Every task is run once, by whichever thread, and all threads return when there is none left") {
    for (int round = 0; round != ekiden_test::rounds(100); ++round) {
        loop_context loop;
        constexpr int count = 500;
        std::vector<std::atomic<int>> runs(count);
        for (int i = 0; i != count; ++i) {
            loop.get_executor().post([&runs, i] { runs[static_cast<std::size_t>(i)].fetch_add(1); });
        }
        std::atomic<std::size_t> sum{0};
        in_threads(3, [&](int) { sum += loop.run(); });
        CHECK(sum.load() == count);
        CHECK(loop.is_stopped());
        for (const auto& r : runs) CHECK(r.load() == 1);
    }
}

TEST_CASE("Threads that post to each other from tasks end together") {
    for (int round = 0; round != ekiden_test::rounds(100); ++round) {
        loop_context loop;
        const auto executor = loop.get_executor();
        std::atomic<int> ran{0};
        std::function<void(int)> branch = [&](int depth) {
            ran.fetch_add(1);
            if (depth == 0) return;
            executor.post([&branch, depth] { branch(depth - 1); });
            executor.defer([&branch, depth] { branch(depth - 1); });
        };
        executor.post([&] { branch(7); });
        std::atomic<std::size_t> sum{0};
        in_threads(3, [&](int) { sum += loop.run(); });
        CHECK(sum.load() == 255);
        CHECK(ran.load() == 255);
    }
}

TEST_CASE("A thread stays in run while the task of another one may still post") {
    for (int round = 0; round != ekiden_test::rounds(100); ++round) {
        loop_context loop(2);
        const auto executor = loop.get_executor();
        std::atomic<int> ran{0};
        std::latch both(2);
        executor.post([&] {
            std::this_thread::sleep_for(100us); // the other thread has time to go
            for (int i = 0; i != 2; ++i) {
                executor.post([&] {
                    both.arrive_and_wait(); // needs two threads
                    ran.fetch_add(1);
                });
            }
        });
        in_threads(2, [&](int) { (void)loop.run(); });
        CHECK(ran.load() == 2);
    }
}

TEST_CASE("A task that takes long does not hold up those behind it") {
    for (int round = 0; round != ekiden_test::rounds(50); ++round) {
        loop_context loop;
        const auto executor = loop.get_executor();
        std::latch last(1);
        std::atomic<int> ran{0};
        executor.post([&] { last.wait(); });
        for (int i = 0; i != 200; ++i) executor.post([&] { ran.fetch_add(1); });
        executor.post([&] { last.count_down(); });
        in_threads(2, [&](int) { (void)loop.run(); });
        CHECK(ran.load() == 200);
    }
}

TEST_CASE("What a thread leaves behind in run_one is taken by another one") {
    for (int round = 0; round != ekiden_test::rounds(100); ++round) {
        loop_context loop;
        const auto executor = loop.get_executor();
        executor.on_work_started();
        std::atomic<int> ran{0};
        std::thread inside([&] { (void)loop.run(); });
        for (int i = 0; i != 30; ++i) executor.post([&] { ran.fetch_add(1); });
        (void)loop.run_one_for(std::chrono::milliseconds(1)); // the other thread may have run them all
        (void)loop.poll_one();
        while (ran.load() != 30) std::this_thread::yield();
        executor.on_work_finished();
        inside.join();
        CHECK(loop.is_stopped());
    }
}

TEST_CASE("A deferred task is not lost when its poster leaves run") {
    for (int round = 0; round != ekiden_test::rounds(200); ++round) {
        loop_context loop;
        const auto executor = loop.get_executor();
        executor.on_work_started();
        std::thread inside([&] { (void)loop.run(); });
        std::atomic<bool> ran{false};
        executor.post([&] {
            executor.defer([&] {
                ran = true;
                executor.on_work_finished();
            });
        });
        (void)loop.run_one();
        inside.join(); // run by whichever thread
        CHECK(ran.load());
    }
}

TEST_CASE("What a task has deferred is run by another thread while the task waits for it") {
    loop_context context;
    auto guard = ekiden::make_work_guard(context);
    std::vector<std::thread> threads;
    for (int t = 0; t != 2; ++t) threads.emplace_back([&] { context.run(); });
    for (int round = 0; round != ekiden_test::rounds(200); ++round) {
        std::atomic<bool> has_ended{false};
        context.get_executor().post([&] {
            if (round % 2 == 0) {
                ekiden::promise<int> other;
                auto result = other.get_future();
                context.get_executor().defer([&] { other.set_value(round); });
                CHECK(result.get() == round);
            } else { // in a loop of its own, which sleeps
                loop_context inner(1);
                auto work = ekiden::make_work_guard(inner);
                context.get_executor().defer([&] { work.reset(); });
                CHECK(inner.run() == 0);
            }
            has_ended.store(true);
        });
        while (!has_ended.load()) std::this_thread::yield();
        if (round % 16 == 0) std::this_thread::sleep_for(std::chrono::microseconds(200)); // they fall asleep
    }
    guard.reset();
    for (auto& thread : threads) thread.join();
}

TEST_CASE("stop from any thread, or from a task, ends all that wait") {
    for (int round = 0; round != ekiden_test::rounds(100); ++round) {
        loop_context loop;
        const auto executor = loop.get_executor();
        executor.on_work_started();
        std::thread stopper([&] {
            if (round % 2 == 0)
                loop.stop();
            else
                executor.post([&] { loop.stop(); });
        });
        in_threads(3, [&](int) { (void)loop.run(); });
        stopper.join();
        CHECK(loop.is_stopped());
        executor.on_work_finished();
    }
}

TEST_CASE("A context that is stopped and restarted again and again loses no task") {
    for (const int hint : {1, 2}) {
        const int count = ekiden_test::rounds(20'000);
        loop_context loop(hint);
        const auto executor = loop.get_executor();
        std::atomic<int> ran{0};
        std::atomic<bool> is_over{false};
        std::thread posting([&] {
            for (int i = 0; i != count; ++i) executor.post([&] { ran.fetch_add(1); });
        });
        std::thread stopper([&] {
            while (!is_over.load()) {
                loop.stop();
                std::this_thread::yield();
            }
        });
        while (ran.load() != count) {
            if (hint == 1)
                (void)loop.run();
            else
                in_threads(2, [&](int) { (void)loop.run(); });
            loop.restart();
        }
        is_over = true;
        stopper.join();
        posting.join();
        CHECK(ran.load() == count);
    }
}

TEST_CASE("Whoever finds the context running after a post may rely on its task being run") {
    for (const int hint : {1, 2}) {
        for (int round = 0; round != ekiden_test::rounds(2000); ++round) {
            loop_context loop(hint);
            std::atomic<bool> ran{false};
            bool was_running = false;
            std::thread posting([&] {
                loop.get_executor().post([&] { ran = true; });
                was_running = !loop.is_stopped();
            });
            const std::size_t count = loop.run();
            posting.join();
            if (was_running) CHECK(loop.is_stopped() == true);
            CHECK((count == 1) == ran.load());
            if (was_running) CHECK(ran.load());
        }
    }
}

TEST_CASE("More threads than the hint says run a context, and all return when there is no work left") {
    if (ekiden_test::is_emulated) return;
    loop_context loop(2);
    const auto executor = loop.get_executor();
    executor.on_work_started();
    constexpr int count = 70;
    std::latch all_inside(count);
    for (int i = 0; i != count; ++i) executor.post([&] { all_inside.arrive_and_wait(); });
    std::vector<std::thread> threads;
    for (int i = 0; i != count; ++i) threads.emplace_back([&] { (void)loop.run(); });
    all_inside.wait(); // each thread runs a task
    std::atomic<int> ran{0};
    for (int i = 0; i != 1000; ++i) executor.post([&] { ran.fetch_add(1); });
    while (ran.load() != 1000) std::this_thread::yield();
    executor.on_work_finished();
    for (std::thread& t : threads) t.join();
    CHECK(loop.is_stopped());
}

TEST_CASE("The order of the posts is kept across posting threads, also with a hint above 1") {
    loop_context loop(2);
    const auto executor = loop.get_executor();
    std::vector<int> order;
    for (int i = 0; i != 300; ++i) {
        std::thread([&, i] { executor.post([&order, i] { order.push_back(i); }); }).join();
    }
    CHECK(loop.run() == 300);
    for (int i = 0; i != 300; ++i) CHECK(order[static_cast<std::size_t>(i)] == i);
}

TEST_CASE("A thread that leaves passes the task on for which it was woken") {
    for (int round = 0; round != ekiden_test::rounds(200); ++round) {
        loop_context loop(3);
        const auto executor = loop.get_executor();
        executor.on_work_started();
        std::atomic<bool> ran{false};
        std::thread inside([&] { (void)loop.run(); });
        std::thread leaves([&] { (void)loop.run_for(50us); });
        if (round % 2 == 0) std::this_thread::sleep_for(50us);
        executor.post([&] { ran = true; });
        while (!ran.load()) std::this_thread::yield();
        executor.on_work_finished();
        inside.join();
        leaves.join();
    }
}

TEST_CASE("Several deferred tasks that wait for each other are run by several threads") {
    for (int round = 0; round != ekiden_test::rounds(100); ++round) {
        loop_context loop(4);
        const auto executor = loop.get_executor();
        executor.on_work_started();
        constexpr int count = 4;
        std::latch all(count);
        std::vector<std::thread> threads;
        for (int i = 0; i != count; ++i) threads.emplace_back([&] { (void)loop.run(); });
        if (round % 2 == 0) std::this_thread::sleep_for(200us); // they fall asleep
        executor.post([&] {
            for (int i = 0; i != count; ++i) executor.defer([&] { all.arrive_and_wait(); });
            executor.defer([&] { executor.on_work_finished(); });
        });
        for (std::thread& t : threads) t.join();
        CHECK(loop.is_stopped());
    }
}

TEST_CASE("The last task throws: the threads that wait find that no work is left") {
    for (int round = 0; round != ekiden_test::rounds(100); ++round) {
        loop_context loop(3);
        const auto executor = loop.get_executor();
        executor.on_work_started();
        std::atomic<int> caught{0};
        std::vector<std::thread> threads;
        for (int i = 0; i != 3; ++i) {
            threads.emplace_back([&] {
                try {
                    (void)loop.run();
                } catch (int) {
                    caught.fetch_add(1);
                }
            });
        }
        if (round % 2 == 0) std::this_thread::sleep_for(200us); // they fall asleep
        executor.post([&] {
            executor.on_work_finished();
            throw 1;
        });
        for (std::thread& t : threads) t.join();
        CHECK(caught.load() == 1);
        CHECK(loop.is_stopped());
    }
}

TEST_CASE("A producer and threads that keep up with it: nothing is lost between sleeps and wake-ups") {
    for (const int hint : {1, 2}) {
        const int count = ekiden_test::rounds(20'000);
        loop_context loop(hint);
        const auto executor = loop.get_executor();
        executor.on_work_started();
        std::atomic<int> ran{0};
        std::vector<std::thread> inside;
        for (int i = 0; i != hint; ++i) inside.emplace_back([&] { (void)loop.run(); });
        for (int i = 0; i != count; ++i) {
            executor.post([&] { ran.fetch_add(1, std::memory_order_relaxed); });
            if (i % 16 == 0) { // they fall idle
                while (ran.load() != i + 1) std::this_thread::yield();
            }
        }
        executor.on_work_finished();
        for (std::thread& t : inside) t.join();
        CHECK(ran.load() == count);
    }
}
