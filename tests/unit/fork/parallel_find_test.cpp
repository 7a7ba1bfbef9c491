#include <ekiden/fork/parallel_any_of.hpp>
#include <ekiden/fork/parallel_find.hpp>

#include <ekiden/fork/parallel_for.hpp>
#include <ekiden/future/operation_canceled.hpp>
#include <ekiden/pool/thread_pool.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <deque>
#include <ranges>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <type_traits>
#include <vector>

using ekiden::parallel_all_of;
using ekiden::parallel_any_of;
using ekiden::parallel_find;
using ekiden::parallel_find_if;
using ekiden::parallel_none_of;

TEST_CASE("parallel_find returns the first match, wherever it is") {
    ekiden::thread_pool pool({.threads = 3});
    for (const std::size_t count : {1U, 2U, 31U, 32U, 33U, 1'000U, 300'000U}) {
        std::vector<int> all(count, 0);
        for (const std::size_t at : {std::size_t{0}, count / 3, count / 2, count - 1}) {
            all[at] = 1;
            all[count - 1] = 1; // a later match
            CHECK(parallel_find(pool, all, 1) - all.begin() == static_cast<std::ptrdiff_t>(at));
            const auto is_set = [](int n) { return n != 0; };
            CHECK(parallel_find_if(pool, all, is_set) - all.begin() == static_cast<std::ptrdiff_t>(at));
            CHECK(parallel_find(all, 1) == all.begin() + static_cast<std::ptrdiff_t>(at));
            std::fill(all.begin(), all.end(), 0);
        }
        CHECK(parallel_find(pool, all, 1) == all.end());
    }
}

TEST_CASE("parallel_find returns the first of many matches") {
    ekiden::thread_pool pool({.threads = 3});
    std::vector<std::string> words(50'000, "no");
    for (std::size_t i = 20'000; i != words.size(); ++i) words[i] = "yes";
    for (int turn = 0; turn != 50; ++turn) CHECK(parallel_find(pool, words, "yes") - words.begin() == 20'000);
    const std::deque<std::string> others(words.begin(), words.end());
    CHECK(parallel_find(pool, others, std::string("yes")) - others.begin() == 20'000);
}

TEST_CASE("searches of empty ranges and of one element need no other thread") {
    ekiden::thread_pool pool({.threads = 2});
    const std::vector<int> none;
    const auto fails = [](int) -> bool { throw std::runtime_error("called"); };
    CHECK(parallel_find_if(pool, none, fails) == none.end());
    CHECK_FALSE(parallel_any_of(pool, none, fails));
    CHECK(parallel_all_of(pool, none, fails));
    CHECK(parallel_none_of(pool, none, fails));
    const std::vector<int> one{7};
    CHECK(parallel_find(pool, one, 7) == one.begin());
    CHECK(parallel_find(pool, one, 8) == one.end());
    CHECK(parallel_all_of(pool, one, [](int n) { return n == 7; }));
}

TEST_CASE("a search of numbers without an array finds the first number, and temporaries give no iterator") {
    ekiden::thread_pool pool({.threads = 2});
    const auto numbers = std::views::iota(0, 1'000'000);
    CHECK(*parallel_find_if(pool, numbers, [](int n) { return n * 7LL > 2'000'000; }) == 285'715);
    static_assert(std::is_same_v<decltype(parallel_find(std::vector<int>(), 1)), std::ranges::dangling>);
}

TEST_CASE("parallel_any_of, all_of and none_of say what the serial functions say") {
    ekiden::thread_pool pool({.threads = 3});
    std::vector<int> all(100'000, 1);
    const auto is_one = [](int n) { return n == 1; };
    for (const std::size_t odd : {0U, 50'000U, 99'999U}) {
        CHECK(parallel_all_of(pool, all, is_one));
        CHECK_FALSE(parallel_none_of(pool, all, is_one));
        all[odd] = 2;
        CHECK_FALSE(parallel_all_of(pool, all, is_one));
        CHECK(parallel_any_of(pool, all, [](int n) { return n == 2; }));
        CHECK_FALSE(parallel_none_of(pool, all, [](int n) { return n == 2; }));
        CHECK_FALSE(parallel_any_of(all, [](int n) { return n == 3; }));
        CHECK(parallel_none_of(all, [](int n) { return n == 3; }));
        CHECK_FALSE(parallel_all_of(all, is_one));
        all[odd] = 1;
    }
}

TEST_CASE("a search ends early: few elements behind the match are tested") {
    ekiden::thread_pool pool({.threads = 3});
    constexpr int count = 100'000'000; // testing all of them would take much longer
    std::atomic<long> tested{0};
    const auto is_match = [&tested](int n) {
        tested.fetch_add(1, std::memory_order_relaxed);
        return n == 1'000;
    };
    CHECK(*parallel_find_if(pool, std::views::iota(0, count), is_match) == 1'000);
    CHECK(tested.load() < count / 10);
    tested = 0;
    CHECK(parallel_any_of(pool, std::views::iota(0, count), is_match));
    CHECK(tested.load() < count / 10);
    tested = 0;
    const auto is_other = [&tested](int n) {
        tested.fetch_add(1, std::memory_order_relaxed);
        return n != 1'000;
    };
    CHECK_FALSE(parallel_all_of(pool, std::views::iota(0, count), is_other));
    CHECK(tested.load() < count / 10);
}

TEST_CASE("an exception of the predicate ends a search and reaches the caller") {
    ekiden::thread_pool pool({.threads = 3});
    std::atomic<long> tested{0};
    const auto fails = [&tested](int n) -> bool {
        tested.fetch_add(1, std::memory_order_relaxed);
        if (n == 5'000) throw std::runtime_error("bad element");
        return false;
    };
    constexpr int count = 100'000'000;
    CHECK_THROWS_AS((void)parallel_find_if(pool, std::views::iota(0, count), fails), std::runtime_error);
    CHECK_THROWS_AS((void)parallel_any_of(pool, std::views::iota(0, count), fails), std::runtime_error);
    CHECK(tested.load() < count / 5);
}

TEST_CASE("a stop request ends a search with operation_canceled") {
    ekiden::thread_pool pool({.threads = 2});
    std::stop_source before;
    before.request_stop();
    const std::vector<int> all(1'000, 0);
    CHECK_THROWS_AS((void)parallel_find(pool, all, 0, {.stop = before.get_token()}),
                    ekiden::operation_canceled);
    std::stop_source during;
    const auto stops = [&during](int n) {
        if (n == 1'000) during.request_stop();
        return false;
    };
    try {
        (void)parallel_any_of(pool, std::views::iota(0, 100'000'000), stops, {.stop = during.get_token()});
        FAIL("not stopped");
    } catch (const ekiden::operation_canceled& error) {
        CHECK(std::string(error.what()).find("parallel_any_of") != std::string::npos);
    }
}

TEST_CASE("a search inside a parallel loop, and a search whose predicate searches") {
    ekiden::thread_pool pool({.threads = 3});
    const std::vector<int> all{3, 1, 4, 1, 5, 9, 2, 6};
    std::atomic<int> right{0};
    ekiden::parallel_for(pool, 0, 200, [&](int) {
        if (parallel_find(all, 9) - all.begin() == 5) ++right;
    });
    CHECK(right.load() == 200);
    const auto numbers = std::views::iota(0, 500);
    const auto found = parallel_find_if(pool, numbers, [&](int n) {
        return parallel_any_of(numbers, [n](int m) { return m * m == n && m > 10; });
    });
    CHECK(*found == 121);
}

TEST_CASE("a search with a grain larger than the range tests the range once") {
    ekiden::thread_pool pool({.threads = 2});
    std::vector<int> all(1'000, 0);
    all[999] = 1;
    CHECK(parallel_find(pool, all, 1, {.grain = static_cast<std::size_t>(-1)}) - all.begin() == 999);
}
