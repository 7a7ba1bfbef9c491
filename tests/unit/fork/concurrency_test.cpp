#include <ekiden/fork/parallel_find.hpp>
#include <ekiden/fork/parallel_for.hpp>
#include <ekiden/fork/parallel_for_each.hpp>
#include <ekiden/fork/parallel_reduce.hpp>
#include <ekiden/fork/parallel_scan.hpp>
#include <ekiden/fork/parallel_sort.hpp>
#include <ekiden/fork/parallel_stable_sort.hpp>
#include <ekiden/fork/parallel_transform.hpp>
#include <ekiden/fork/task_group.hpp>
#include <ekiden/future/operation_canceled.hpp>
#include <ekiden/pool/thread_pool.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <latch>
#include <memory>
#include <stdexcept>
#include <stop_token>
#include <system_error>
#include <thread>
#include <vector>

using namespace std::chrono_literals;

namespace {

/// Counts how many calls run at the same time.
class crowd {
public:
    void visit() {
        const int now = ++inside_;
        int most = most_.load();
        while (most < now && !most_.compare_exchange_weak(most, now)) {
        }
        if (++visits_ % 16 == 0) std::this_thread::sleep_for(50us); // so that other threads join
        --inside_;
    }
    [[nodiscard]] int most() const { return most_.load(); }
    [[nodiscard]] int visits() const { return visits_.load(); }

private:
    std::atomic<int> inside_{0};
    std::atomic<int> most_{0};
    std::atomic<int> visits_{0};
};

} // namespace

TEST_CASE("no loop runs in more threads than its option concurrency allows") {
    ekiden::thread_pool pool({.threads = 6});
    for (const std::size_t limit : {1U, 2U, 3U}) {
        const ekiden::loop_options options{.concurrency = limit};
        const auto most = static_cast<int>(limit);
        const auto check = [&](auto&& loop) {
            crowd all;
            loop(all);
            CHECK(all.most() <= most);
            CHECK(all.visits() > 0);
        };
        std::vector<int> numbers(3'000);
        for (std::size_t i = 0; i != numbers.size(); ++i) numbers[i] = static_cast<int>(i * 7'919 % 3'000);
        check([&](crowd& c) {
            CHECK(ekiden::parallel_for(pool, 0, 2'000, [&c](int) { c.visit(); }, options));
            CHECK(c.visits() == 2'000);
        });
        check([&](crowd& c) {
            CHECK(
                ekiden::parallel_for(pool, 0, 2'000, [&c](ekiden::fork_scope&, int) { c.visit(); }, options));
            CHECK(c.visits() == 2'000);
        });
        check([&](crowd& c) {
            CHECK(ekiden::parallel_for_each(pool, numbers, [&c](int) { c.visit(); }, options));
        });
        check([&](crowd& c) {
            const auto map = [&c](int i) { return c.visit(), i; };
            CHECK(ekiden::parallel_reduce(pool, 0, 2'000, 0, map, std::plus<>(), options) == 1'999'000);
        });
        check([&](crowd& c) {
            const auto add = [&c](int a, int b) { return c.visit(), a + b; };
            auto same = options;
            same.deterministic = true;
            same.grain = 10;
            CHECK(ekiden::parallel_reduce(pool, 0, 2'000, 0, std::identity(), add, same) == 1'999'000);
            CHECK(ekiden::parallel_reduce(pool, 0, 2'000, 0, std::identity(), add, options) == 1'999'000);
        });
        check([&](crowd& c) {
            const auto less = [&c](int a, int b) { return c.visit(), a < b; };
            auto fine = options;
            fine.grain = 20;
            auto all = numbers;
            CHECK(ekiden::parallel_sort(pool, all, less, fine));
            CHECK(std::is_sorted(all.begin(), all.end()));
            all = numbers;
            CHECK(ekiden::parallel_stable_sort(pool, all, less, fine));
            CHECK(std::is_sorted(all.begin(), all.end()));
        });
        check([&](crowd& c) {
            std::vector<int> sums(numbers.size());
            const auto add = [&c](int a, int b) { return c.visit(), a + b; };
            CHECK(ekiden::parallel_inclusive_scan(pool, numbers, sums.begin(), add, options));
            CHECK(sums.back() == 2'999 * 3'000 / 2);
        });
        check([&](crowd& c) {
            const auto none = [&c](int) { return c.visit(), false; };
            CHECK(ekiden::parallel_find_if(pool, numbers, none, options) == numbers.end());
        });
    }
}

TEST_CASE("a limited loop uses as many threads as its limit allows") {
    ekiden::thread_pool pool({.threads = 6});
    // Each iteration waits until another one runs. With fewer than two threads, the loop would not end.
    std::latch two_run(2);
    ekiden::parallel_for(pool, 0, 2, [&](int) { two_run.arrive_and_wait(); }, {.concurrency = 2});
    std::latch two_fork(2);
    ekiden::parallel_for(pool, 0, 2,
                         [&](ekiden::fork_scope& scope, int) {
                             scope.offer_all();
                             two_fork.arrive_and_wait();
                         },
                         {.concurrency = 2});
    std::latch two_find(2);
    const std::vector<int> all(2);
    CHECK(ekiden::parallel_find_if(pool, all,
                                   [&](int) {
                                       two_find.arrive_and_wait();
                                       return false;
                                   },
                                   {.concurrency = 2})
          == all.end());
}

TEST_CASE("exceptions give the places of a limited loop back") {
    ekiden::thread_pool pool({.threads = 4});
    for (int turn = 0; turn != 50; ++turn) {
        CHECK_THROWS_AS(ekiden::parallel_for(pool, 0, 1'000,
                                             [](int i) {
                                                 if (i % 100 == 57) throw std::runtime_error("bad iteration");
                                             },
                                             {.concurrency = 2}),
                        std::runtime_error);
        CHECK_THROWS_AS(ekiden::parallel_for(pool, 0, 1'000,
                                             [](ekiden::fork_scope&, int i) {
                                                 if (i % 100 == 57) throw std::runtime_error("bad iteration");
                                             },
                                             {.concurrency = 2}),
                        std::runtime_error);
    }
}

TEST_CASE("a limited loop inside a limited loop has a limit of its own") {
    ekiden::thread_pool pool({.threads = 4});
    crowd inner;
    crowd outer;
    ekiden::parallel_for(pool, 0, 20,
                         [&](int) {
                             outer.visit();
                             ekiden::parallel_for(0, 50, [&](int) { inner.visit(); }, {.concurrency = 2});
                         },
                         {.concurrency = 2});
    CHECK(outer.most() <= 2);
    CHECK(inner.most() <= 4);
    CHECK(inner.visits() == 1'000);
}

// ---- task_group

TEST_CASE("a group with a limit runs at most so many tasks at the same time, and runs all of them") {
    ekiden::thread_pool pool({.threads = 6});
    for (const std::size_t limit : {1U, 2U, 3U}) {
        ekiden::task_group group(pool, {.concurrency = limit});
        for (int turn = 0; turn != 3; ++turn) {
            crowd all;
            for (int i = 0; i != 1'000; ++i) group.spawn([&all] { all.visit(); });
            group.wait();
            CHECK(all.visits() == 1'000);
            CHECK(all.most() <= static_cast<int>(limit));
        }
    }
}

TEST_CASE("tasks of a group with the limit one begin in the order of their spawns") {
    ekiden::thread_pool pool({.threads = 4});
    std::vector<int> order; // no lock: the tasks run one after the other
    ekiden::task_group group(pool, {.concurrency = 1});
    for (int i = 0; i != 5'000; ++i) group.spawn([&order, i] { order.push_back(i); });
    group.wait();
    CHECK(order.size() == 5'000);
    CHECK(std::is_sorted(order.begin(), order.end()));
}

TEST_CASE("a group with the limit two runs two tasks at the same time") {
    ekiden::thread_pool pool({.threads = 2});
    ekiden::task_group group(pool, {.concurrency = 2});
    std::latch both(2);
    for (int i = 0; i != 2; ++i) group.spawn([&both] { both.arrive_and_wait(); });
    group.wait();
}

TEST_CASE("tasks of a limited group may spawn tasks, and leave the other tasks of the pool their turn") {
    ekiden::thread_pool pool({.threads = 1});
    ekiden::task_group group(pool, {.concurrency = 1});
    std::atomic<bool> has_run{false};
    std::function<void()> again = [&] {
        if (!has_run.load()) group.spawn(again);
    };
    group.spawn(again);
    pool.post([&has_run] { has_run = true; }); // the group would never end without it
    group.wait();
    CHECK(has_run.load());
}

TEST_CASE("exceptions and a stop of a limited group are those of any group") {
    ekiden::thread_pool pool({.threads = 3});
    ekiden::task_group group(pool, {.then = ekiden::on_error::stop_rest, .concurrency = 1});
    std::atomic<int> begun{0};
    for (int i = 0; i != 1'000; ++i)
        group.spawn([&begun] {
            if (++begun == 10) throw std::runtime_error("bad task");
        });
    CHECK_THROWS_AS(group.wait(), std::runtime_error);
    CHECK(begun.load() == 10);
    group.spawn([&begun] { ++begun; }); // the group is usable again
    group.wait();
    CHECK(begun.load() == 11);
    ekiden::task_group keeps(pool, {.concurrency = 2});
    for (int i = 0; i != 100; ++i) keeps.spawn([] { throw std::runtime_error("each"); });
    CHECK_THROWS_AS(keeps.wait(), std::runtime_error);
    CHECK(ekiden::suppressed_exceptions().size() == 99);
}

TEST_CASE("a pool that stops drops the tasks that wait in a limited group") {
    for (int turn = 0; turn != 20; ++turn) {
        ekiden::thread_pool pool({.threads = 2});
        ekiden::task_group group(pool, {.concurrency = 2});
        std::atomic<int> run{0};
        const auto alive = std::make_shared<int>(0);
        std::latch begun(1);
        std::latch stopped(1);
        for (int i = 0; i != 500; ++i)
            group.spawn([&, alive, i] {
                if (i == 0) {
                    begun.count_down();
                    stopped.wait();
                }
                ++run;
            });
        begun.wait();
        pool.stop();
        stopped.count_down();
        try {
            group.wait();
            CHECK(run.load() == 500);
        } catch (const ekiden::operation_canceled&) {
            CHECK(run.load() < 500);
        }
        CHECK(alive.use_count() == 1);
        group.spawn([&run] { ++run; }); // refused
        CHECK_THROWS_AS(group.wait(), std::system_error);
    }
}

TEST_CASE("a limited group may be destroyed as soon as its wait has returned") {
    ekiden::thread_pool pool({.threads = 3});
    std::atomic<int> run{0};
    for (int turn = 0; turn != 500; ++turn) {
        auto group = std::make_unique<ekiden::task_group>(pool, ekiden::task_group_options{.concurrency = 2});
        for (int i = 0; i != 6; ++i) group->spawn([&run] { ++run; });
        group->wait();
        group.reset();
    }
    CHECK(run.load() == 3'000);
    {
        ekiden::task_group waits_at_its_end(pool, {.concurrency = 1});
        for (int i = 0; i != 100; ++i) waits_at_its_end.spawn([&run] { ++run; });
    }
    CHECK(run.load() == 3'100);
}
