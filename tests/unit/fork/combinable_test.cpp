#include <ekiden/fork/combinable.hpp>

#include <ekiden/fork/parallel_for.hpp>
#include <ekiden/fork/task_group.hpp>
#include <ekiden/pool/thread_pool.hpp>
#include <ekiden/sys/config.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <latch>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

using ekiden::combinable;

TEST_CASE("each thread has a value of its own, and combine() adds up all values") {
    combinable<int> sums;
    CHECK(sums.size() == 0);
    CHECK(sums.combine(std::plus<>()) == 0); // there is no value
    std::vector<int*> places(50);
    std::latch all_in(50); // so that all threads exist at the same time
    {
        std::vector<std::jthread> threads;
        for (std::size_t i = 0; i != places.size(); ++i)
            threads.emplace_back([&, i] {
                sums.local() += static_cast<int>(i);
                places[i] = &sums.local();
                all_in.arrive_and_wait();
            });
    }
    CHECK(std::set<int*>(places.begin(), places.end()).size() == 50);
    CHECK(sums.size() == 50);
    CHECK(sums.combine(std::plus<>()) == 1'225);
    int largest = 0;
    sums.combine_each([&largest](int& n) { largest = std::max(largest, n); });
    CHECK(largest == 49);
}

TEST_CASE("the values of a parallel loop give the sum of all iterations") {
    ekiden::thread_pool pool({.threads = 3});
    combinable<std::uint64_t> sums;
    for (int turn = 1; turn != 4; ++turn) {
        ekiden::parallel_for(pool, 0, 500'000,
                             [&sums](int i) { sums.local() += static_cast<std::uint64_t>(i); });
        CHECK(sums.combine(std::plus<>()) == static_cast<std::uint64_t>(turn) * 124'999'750'000U);
    }
    CHECK(sums.size() <= 4); // three workers and this thread
    sums.clear();
    CHECK(sums.size() == 0);
    CHECK(sums.local() == 0);
}

TEST_CASE("a value begins as the factory says, and may be a container") {
    ekiden::thread_pool pool({.threads = 2});
    std::atomic<int> made{0};
    combinable<std::vector<int>> lists([&made] {
        ++made;
        return std::vector<int>{-1};
    });
    ekiden::task_group group(pool);
    for (int i = 0; i != 1'000; ++i) group.spawn([&lists, i] { lists.local().push_back(i); });
    group.wait();
    CHECK(static_cast<std::size_t>(made.load()) == lists.size());
    std::vector<int> all = lists.combine([](std::vector<int> a, const std::vector<int>& b) {
        a.insert(a.end(), b.begin(), b.end());
        return a;
    });
    CHECK(std::erase(all, -1) == made.load());
    std::sort(all.begin(), all.end());
    CHECK(all.size() == 1'000);
    CHECK(all.back() == 999);
}

TEST_CASE("a factory that throws leaves no value behind") {
    bool fails = true;
    combinable<std::string> values([&fails]() -> std::string {
        if (fails) throw std::runtime_error("no value");
        return "made";
    });
    CHECK_THROWS_AS((void)values.local(), std::runtime_error);
    CHECK(values.size() == 0);
    CHECK_THROWS_AS((void)values.combine(std::plus<>()), std::runtime_error);
    fails = false;
    CHECK(values.local() == "made");
    CHECK(values.size() == 1);
    CHECK(values.combine(std::plus<>()) == "made");
}

TEST_CASE("an exception of combine() reaches the caller, and the values stay") {
    combinable<int> values;
    values.local() = 1;
    std::jthread([&values] { values.local() = 2; }).join();
    CHECK_THROWS_AS((void)values.combine([](int, int) -> int { throw std::runtime_error("no sum"); }),
                    std::runtime_error);
    CHECK_THROWS_AS(values.combine_each([](int&) { throw std::runtime_error("no visit"); }),
                    std::runtime_error);
    CHECK(values.combine(std::plus<>()) == 3);
}

TEST_CASE("the value of a thread outlives the thread, and a later thread has another value") {
    combinable<int> values;
    for (int i = 1; i <= 100; ++i) std::jthread([&values] { ++values.local(); }).join();
    CHECK(values.size() == 100);
    CHECK(values.combine(std::plus<>()) == 100);
}

TEST_CASE("two objects have different values in one thread, and the values share no cache line") {
    combinable<int> a;
    combinable<int> b;
    a.local() = 1;
    b.local() = 2;
    CHECK(a.local() == 1);
    CHECK(b.local() == 2);
    CHECK(reinterpret_cast<std::uintptr_t>(&a.local()) / ekiden::sys::isolation
          != reinterpret_cast<std::uintptr_t>(&b.local()) / ekiden::sys::isolation);
}

TEST_CASE("a value need not be movable, and the destructor destroys each value once") {
    static std::atomic<int> alive{0};
    struct pinned {
        pinned() { ++alive; }
        pinned(const pinned&) = delete;
        pinned& operator=(const pinned&) = delete;
        ~pinned() { --alive; }
        int count = 0;
    };
    {
        combinable<pinned> values;
        ++values.local().count;
        std::jthread([&values] { ++values.local().count; }).join();
        CHECK(alive.load() == 2);
        values.clear();
        CHECK(alive.load() == 0);
        ++values.local().count;
    }
    CHECK(alive.load() == 0);
}
