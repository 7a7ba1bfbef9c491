#include <ekiden/fork/parallel_scan.hpp>

#include <ekiden/fork/parallel_for.hpp>
#include <ekiden/pool/thread_pool.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <ranges>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

using ekiden::parallel_exclusive_scan;
using ekiden::parallel_inclusive_scan;

namespace {

std::vector<std::uint64_t> numbers(std::size_t count) {
    std::vector<std::uint64_t> all(count);
    for (std::size_t i = 0; i != count; ++i) all[i] = i * 2'654'435'761U % 1'000;
    return all;
}

} // namespace

TEST_CASE("scans of all sizes write what the serial scans write") {
    ekiden::thread_pool pool({.threads = 3});
    for (const std::size_t count : {0U, 1U, 2U, 3U, 255U, 256U, 257U, 1'000U, 500'000U}) {
        const auto input = numbers(count);
        std::vector<std::uint64_t> expected(count);
        std::vector<std::uint64_t> output(count);
        std::inclusive_scan(input.begin(), input.end(), expected.begin());
        CHECK(parallel_inclusive_scan(pool, input, output.begin()));
        CHECK(output == expected);
        CHECK(parallel_inclusive_scan(input, output.begin(), std::plus<>(), {.grain = 7}));
        CHECK(output == expected);
        std::exclusive_scan(input.begin(), input.end(), expected.begin(), std::uint64_t{5});
        CHECK(parallel_exclusive_scan(pool, input, output.begin(), std::uint64_t{5}));
        CHECK(output == expected);
        CHECK(parallel_exclusive_scan(input, output.begin(), std::uint64_t{5}, std::plus<>(),
                                      {.grain = 1'000}));
        CHECK(output == expected);
    }
}

TEST_CASE("a scan may write over its input") {
    ekiden::thread_pool pool({.threads = 3});
    const auto input = numbers(300'000);
    auto expected = input;
    std::inclusive_scan(input.begin(), input.end(), expected.begin());
    for (int turn = 0; turn != 10; ++turn) {
        auto all = input;
        parallel_inclusive_scan(pool, all, all.begin());
        CHECK(all == expected);
    }
    std::exclusive_scan(input.begin(), input.end(), expected.begin(), std::uint64_t{0});
    for (int turn = 0; turn != 10; ++turn) {
        auto all = input;
        parallel_exclusive_scan(pool, all, all.begin(), std::uint64_t{0});
        CHECK(all == expected);
    }
}

TEST_CASE("a scan keeps the order of operands that do not commute") {
    ekiden::thread_pool pool({.threads = 3});
    const auto join = [](const std::string& a, const std::string& b) {
        const auto text = a + b;
        return text.size() > 12 ? text.substr(0, 6) + text.substr(text.size() - 6) : text; // associative
    };
    std::vector<std::string> input;
    for (int i = 0; i != 5'000; ++i) input.push_back(std::to_string(100'000 + i)); // six characters
    std::vector<std::string> expected(input.size());
    std::vector<std::string> output(input.size());
    std::inclusive_scan(input.begin(), input.end(), expected.begin(), join);
    for (int turn = 0; turn != 5; ++turn) {
        parallel_inclusive_scan(pool, input, output.begin(), join);
        CHECK(output == expected);
    }
    const std::string initial = "begin:";
    std::exclusive_scan(input.begin(), input.end(), expected.begin(), initial, join);
    for (int turn = 0; turn != 5; ++turn) {
        parallel_exclusive_scan(pool, input, output.begin(), initial, join);
        CHECK(output == expected);
    }
}

TEST_CASE("a scan that several threads run writes each result even if some threads are slow") {
    ekiden::thread_pool pool({.threads = 3});
    // Some operations take long, so threads add up chunks ahead of the others.
    const auto add = [](std::uint64_t a, std::uint64_t b) {
        if (b % 97 == 0) std::this_thread::yield();
        return a + b;
    };
    const auto input = numbers(20'000);
    std::vector<std::uint64_t> expected(input.size());
    std::inclusive_scan(input.begin(), input.end(), expected.begin());
    for (int turn = 0; turn != 20; ++turn) {
        std::vector<std::uint64_t> output(input.size());
        parallel_inclusive_scan(pool, input, output.begin(), add);
        CHECK(output == expected);
    }
}

TEST_CASE("a scan calls the operation at most about twice for each element, and once with one thread") {
    ekiden::thread_pool pool({.threads = 3});
    const auto input = numbers(50'000);
    std::vector<std::uint64_t> output(input.size());
    std::atomic<std::size_t> calls{0};
    const auto add = [&calls](std::uint64_t a, std::uint64_t b) {
        calls.fetch_add(1, std::memory_order_relaxed);
        return a + b;
    };
    parallel_inclusive_scan(pool, input, output.begin(), add, {.concurrency = 1});
    CHECK(calls.load() == input.size() - 1);
    calls = 0;
    parallel_inclusive_scan(pool, input, output.begin(), add);
    CHECK(calls.load() <= 2 * input.size() + 300);
}

TEST_CASE("an exception of the operation, or of an assignment, ends a scan and reaches the caller") {
    ekiden::thread_pool pool({.threads = 3});
    const auto input = numbers(200'000);
    std::vector<std::uint64_t> output(input.size());
    std::atomic<std::size_t> calls{0};
    const auto fails = [&calls](std::uint64_t a, std::uint64_t b) {
        if (calls.fetch_add(1) == 1'000) throw std::runtime_error("no sum");
        return a + b;
    };
    CHECK_THROWS_AS(parallel_inclusive_scan(pool, input, output.begin(), fails), std::runtime_error);
    CHECK(calls.load() < input.size());
    CHECK_THROWS_AS(parallel_exclusive_scan(pool, input, output.begin(), std::uint64_t{0},
                                            [](std::uint64_t, std::uint64_t) -> std::uint64_t {
                                                throw std::runtime_error("none");
                                            }),
                    std::runtime_error);
    struct refusing {
        refusing& operator=(std::uint64_t value) {
            if (value > 100'000) throw std::length_error("too large");
            return *this;
        }
    };
    std::vector<refusing> refuses(input.size());
    CHECK_THROWS_AS(parallel_inclusive_scan(pool, input, refuses.begin()), std::length_error);
    CHECK(parallel_inclusive_scan(pool, input, output.begin())); // the pool is as before
}

TEST_CASE("a stop request ends a scan, which returns false") {
    ekiden::thread_pool pool({.threads = 2});
    const auto input = numbers(2'000'000);
    std::vector<std::uint64_t> output(input.size());
    std::stop_source stop;
    std::atomic<std::size_t> calls{0};
    const auto stops = [&](std::uint64_t a, std::uint64_t b) {
        if (calls.fetch_add(1, std::memory_order_relaxed) == 10'000) stop.request_stop();
        return a + b;
    };
    CHECK_FALSE(parallel_inclusive_scan(pool, input, output.begin(), stops, {.stop = stop.get_token()}));
    CHECK(calls.load() < input.size());
    CHECK_FALSE(parallel_inclusive_scan(pool, input, output.begin(), stops, {.stop = stop.get_token()}));
}

TEST_CASE("a scan reports its progress up to the last element") {
    ekiden::thread_pool pool({.threads = 2});
    const auto input = numbers(100'000);
    std::vector<std::uint64_t> output(input.size());
    std::size_t last = 0;
    parallel_inclusive_scan(pool, input, output.begin(), std::plus<>(),
                            {.progress = [&](std::size_t done, std::size_t total) {
                                CHECK(done > last);
                                CHECK(total == 100'000);
                                last = done;
                            }});
    CHECK(last == 100'000);
}

TEST_CASE("a scan inside a parallel loop, and an operation that scans") {
    ekiden::thread_pool pool({.threads = 3});
    std::atomic<int> right{0};
    ekiden::parallel_for(pool, 0, 100, [&right](int i) {
        std::vector<long> all(1'000, i);
        parallel_inclusive_scan(all, all.begin());
        if (all.back() == 1'000L * i) ++right;
    });
    CHECK(right.load() == 100);
    const auto add = [](long a, long b) {
        std::vector<long> both{a, b};
        parallel_inclusive_scan(both, both.begin());
        return both[1];
    };
    std::vector<long> all(3'000, 2);
    parallel_inclusive_scan(pool, all, all.begin(), add);
    CHECK(all.back() == 6'000);
}

TEST_CASE("an operation that waits for a task of the pool lets the scan go on") {
    ekiden::thread_pool pool({.threads = 2});
    const auto add = [&pool](long a, long b) { return pool.submit([=] { return a + b; }).get(); };
    std::vector<long> all(2'000, 1);
    pool.submit([&] { parallel_inclusive_scan(all, all.begin(), add); }).get();
    CHECK(all.back() == 2'000);
}

TEST_CASE("scans of views, and of sums with a type of their own") {
    ekiden::thread_pool pool({.threads = 2});
    std::vector<std::int64_t> output(70'000);
    parallel_inclusive_scan(pool, std::views::iota(std::int64_t{0}, std::int64_t{70'000}), output.begin());
    CHECK(output.back() == std::int64_t{69'999} * 70'000 / 2);
    const std::vector<unsigned char> bytes(70'000, 200);
    std::vector<std::uint64_t> sums(bytes.size());
    parallel_exclusive_scan(pool, bytes, sums.begin(), std::uint64_t{0});
    CHECK(sums.back() == 200U * 69'999U);
}
