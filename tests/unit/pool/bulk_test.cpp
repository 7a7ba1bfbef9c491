// post_bulk(): one task stands for many calls, and each call is a task of its own all the same. A fair turn
// may take the oldest of a worker's tasks at any time, and so change the order once.
#include "../failing_allocations.hpp"

#include <ekiden/future/promise.hpp>
#include <ekiden/pool/thread_pool.hpp>
#include <ekiden/queue/recycler.hpp>
#include <ekiden/sys/spin.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <thread>
#include <vector>

using ekiden::priority;
using ekiden::promise;
using ekiden::thread_pool;
using ekiden_test::failing_allocation;

TEST_CASE("A bulk calls each index once, at each priority and from a worker too") {
    thread_pool pool({.threads = 3});
    for (const priority level : {priority::high, priority::normal, priority::low}) {
        for (const bool is_from_worker : {false, true}) {
            std::vector<std::atomic<int>> calls(5000);
            const auto post = [&] {
                CHECK(pool.get_executor(level).post_bulk(calls.size(), [&](std::size_t i) { ++calls[i]; }));
            };
            if (is_from_worker)
                pool.submit(post).get();
            else
                post();
            pool.wait_idle();
            for (auto& c : calls) REQUIRE(c == 1);
        }
    }
    CHECK(pool.metrics().tasks_run == 3 * 2 * 5000 + 3);
    CHECK(pool.metrics().tasks_pending == 0);
}

TEST_CASE("One worker makes the calls of a bulk by their numbers, but for single ones") {
    thread_pool pool({.threads = 1});
    std::vector<std::size_t> order;
    pool.post_bulk(10'000, [&](std::size_t i) { order.push_back(i); });
    pool.wait_idle();
    REQUIRE(order.size() == 10'000);
    CHECK(std::count(order.begin(), order.end(), std::size_t{0}) == 1);
    std::size_t jumps = 0;
    for (std::size_t i = 1; i != order.size(); ++i) jumps += order[i] != order[i - 1] + 1 ? 1 : 0;
    CHECK(jumps <= 10'000 / 64);
}

TEST_CASE("A bulk of many calls is few tasks to allocate") {
    thread_pool pool({.threads = 1});
    std::atomic<int> calls{0};
    const long before = ekiden_test::allocation_count();
    // Too large for a recycled node.
    pool.post_bulk(10'000, [&calls, fill = std::array<char, 500>{}](std::size_t) { calls += 1 + fill[0]; });
    pool.wait_idle();
    CHECK(calls == 10'000);
    CHECK(ekiden_test::allocation_count() - before < 100);
}

TEST_CASE("A call of post_bulk that waits for all others keeps none of them back") {
    thread_pool pool({.threads = 2});
    for (const std::size_t waiting : {std::size_t{0}, std::size_t{37}, std::size_t{98}}) {
        std::atomic<int> others{0};
        pool.post_bulk(99, [&](std::size_t i) {
            if (i != waiting)
                ++others;
            else
                while (others != 98) std::this_thread::yield();
        });
        pool.wait_idle();
        CHECK(others == 98);
    }
}

TEST_CASE("Each call of a bulk has a copy of the callable as it was given") {
    thread_pool pool({.threads = 2});
    std::atomic<int> wrong{0};
    const auto shared = std::make_shared<int>(7);
    pool.post_bulk(1000,
                   [&wrong, shared, count = 0]() mutable { wrong += count++ == 0 && *shared == 7 ? 0 : 1; });
    pool.wait_idle();
    CHECK(wrong == 0);
    CHECK(shared.use_count() == 1);
}

namespace {

/// Its copies fail now and then.
struct copied_seldom {
    std::atomic<int>* calls;
    std::atomic<int>* copies;

    copied_seldom(std::atomic<int>& c, std::atomic<int>& all) : calls(&c), copies(&all) {}
    copied_seldom(copied_seldom&&) noexcept = default;
    copied_seldom(const copied_seldom& other) : calls(other.calls), copies(other.copies) {
        if (++*copies % 7 == 0) throw std::runtime_error("cannot be copied");
    }
    copied_seldom& operator=(const copied_seldom&) = delete;
    copied_seldom& operator=(copied_seldom&&) = delete;
    ~copied_seldom() = default;
    void operator()(std::size_t) const { ++*calls; }
};

} // namespace

namespace {

/// Where a task with a callable of this type was made last, and which calls were made.
struct made_tasks {
    const void* last = nullptr;
    std::array<std::atomic<int>, 2> calls{};
    std::function<void(std::size_t)> first_calls;

    [[nodiscard]] int all_calls() const { return calls[0] + calls[1]; }
};

/// Is told apart from others of its type: the first bulk has the number 0, all others 1.
struct numbered_callable {
    made_tasks* tasks;
    std::size_t number;

    numbered_callable(made_tasks& t, std::size_t n) : tasks(&t), number(n) {}
    numbered_callable(const numbered_callable& other) : tasks(other.tasks), number(other.number) {}
    numbered_callable(numbered_callable&& other) noexcept : tasks(other.tasks), number(other.number) {
        tasks->last = this; // only into a task it is moved
    }
    numbered_callable& operator=(const numbered_callable&) = delete;
    numbered_callable& operator=(numbered_callable&&) = delete;
    ~numbered_callable() = default;

    void operator()(std::size_t i) const {
        ++tasks->calls[number];
        if (number == 0) tasks->first_calls(i);
    }
};

} // namespace

TEST_CASE("A bulk that another worker has ended is not taken for a later task at its address") {
    for (int round = 0; round != 10; ++round) { // in one of 64 a fair turn hides the error
        thread_pool pool({.threads = 2});
        made_tasks tasks;
        const void* ended = nullptr;
        std::atomic<int> at_work{0};
        std::atomic<bool> has_begun{false};
        std::atomic<bool> has_ended{false};
        std::atomic<int> posted{1};
        std::atomic<bool> are_posted{false};
        bool is_used_again = false;
        const auto post = [&](std::size_t number) { pool.post_bulk(2, numbered_callable(tasks, number)); };
        tasks.first_calls = [&](std::size_t i) {
            if (has_ended) return; // a call that is not its own
            if (i == 1) {          // on the other worker: the task is gone already
                ekiden::recycler::flush();
                has_ended = true;
                while (!are_posted || tasks.all_calls() != 2 * posted) std::this_thread::yield();
                return;
            }
            has_begun = true;
            while (!has_ended) std::this_thread::yield();
            for (int batch = 0; batch != 1000 && !is_used_again; ++batch) {
                auto all_run = pool.submit([] {});
                for (int k = 0; k != 100 && !is_used_again; ++k) {
                    post(1);
                    ++posted;
                    is_used_again = tasks.last == ended;
                }
                if (!is_used_again) all_run.get(); // frees the memory of all
            }
            are_posted = true;
        };
        pool.post([&] { // the other worker steals nothing before the first call
            ++at_work;
            while (!has_begun) std::this_thread::yield();
        });
        pool.post([&] {
            ++at_work;
            while (at_work != 2) std::this_thread::yield();
            post(0);
            ended = tasks.last;
        });
        pool.wait_idle();
        CHECK(is_used_again);
        CHECK(tasks.calls[0] == 2);
        CHECK(tasks.calls[1] == 2 * (posted - 1));
    }
}

TEST_CASE("A bulk whose callable cannot be copied at times makes every call once") {
    thread_pool pool({.threads = 2});
    for (int round = 0; round != 20; ++round) {
        std::atomic<int> calls{0};
        std::atomic<int> copies{round};
        pool.post_bulk(200, copied_seldom(calls, copies));
        pool.wait_idle();
        REQUIRE(calls == 200);
    }
}

TEST_CASE("What is urgent comes between two calls of a bulk") {
    thread_pool pool({.threads = 1});
    std::size_t called = 0;
    std::size_t called_before = 0;
    pool.post_bulk(1000, [&](std::size_t) {
        if (++called == 300) pool.post(priority::high, [&] { called_before = called; });
    });
    pool.wait_idle();
    CHECK(called_before >= 300);
    CHECK(called_before <= 301);
}

TEST_CASE("A worker's own post comes before the next call of the bulk that made it") {
    thread_pool pool({.threads = 1});
    std::vector<std::size_t> order;
    pool.post_bulk(20, [&](std::size_t i) {
        order.push_back(i);
        pool.post([&, i] { order.push_back(100 + i); });
    });
    pool.wait_idle();
    REQUIRE(order.size() == 40);
    int pairs = 0;
    for (std::size_t k = 1; k != order.size(); ++k) pairs += order[k] == order[k - 1] + 100 ? 1 : 0;
    CHECK(pairs >= 18);
}

TEST_CASE("A wait that a call of a bulk has ended returns before the next call") {
    thread_pool pool({.threads = 1});
    std::size_t called = 0;
    std::size_t called_at_end = 0;
    const std::size_t called_in_time = pool.submit([&] {
                                               promise<int> end;
                                               auto ended = end.get_future();
                                               pool.post_bulk(100, [&](std::size_t i) {
                                                   ++called;
                                                   if (i != 5) return;
                                                   called_at_end = called;
                                                   end.set_value(1);
                                               });
                                               (void)ended.get();
                                               return called;
                                           })
                                           .get();
    pool.wait_idle();
    CHECK(called_in_time == called_at_end);
    CHECK(called == 100);
}

TEST_CASE("Between two calls of a bulk the pool may be paused and stopped, and what is left is abandoned") {
    const auto calls = std::make_shared<std::atomic<int>>(0);
    {
        thread_pool pool({.threads = 1});
        pool.post_bulk(1000, [calls, &pool] {
            if (++*calls == 11) pool.pause();
        });
        while (pool.activity() != "p") std::this_thread::yield();
        CHECK(*calls == 11);
        pool.resume();
        pool.wait_idle();
        CHECK(*calls == 1000);
    }
    *calls = 0;
    {
        thread_pool pool({.threads = 1});
        pool.post_bulk(1000, [calls, &pool] {
            if (++*calls == 11) pool.stop();
        });
        while (*calls < 11) std::this_thread::yield();
        pool.join();
        CHECK(*calls == 11);
        CHECK(pool.metrics().tasks_run == 11);
        CHECK(pool.metrics().tasks_pending == 0);
    }
    CHECK(calls.use_count() == 1);
}

#if !defined(EKIDEN_TSAN) // which has an allocator of its own

namespace {

/// As many endless tasks as the deque of a worker has room for, so that it is full whenever a worker looks.
struct full_deque {
    thread_pool& pool;
    std::atomic<bool> enough{false};

    void fill() {
        for (int i = 0; i != 256; ++i) pool.post([this] { again(); });
    }
    void again() {
        if (!enough) pool.post([this] { again(); });
    }
};

} // namespace

TEST_CASE("A bulk for which a full deque has no room makes every call") {
    (void)ekiden::sys::spinning_pays();                              // as in faults_test.cpp
    for (const std::size_t n : {std::size_t{2}, std::size_t{100}}) { // of the second one half is split off
        thread_pool pool({.threads = 1});
        full_deque others{pool};
        pool.submit([&] { others.fill(); }).get();
        std::atomic<int> calls{0};
        std::optional<failing_allocation> fault; // of the worker
        CHECK(pool.submit([&] {
                      fault.emplace(0);
                      return true;
                  })
                  .get());
        pool.post_bulk(n, [&calls](std::size_t) { ++calls; });
        const bool has_failed = pool.submit([&] {
                                        const bool failed = fault->has_failed();
                                        fault.reset();
                                        return failed;
                                    })
                                    .get();
        others.enough = true;
        pool.wait_idle();
        CHECK(has_failed);
        CHECK(calls == static_cast<int>(n));
    }
}

#endif
