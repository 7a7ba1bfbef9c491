#include <ekiden/fork/parallel_for.hpp>

#include <ekiden/pool/thread_pool.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <stop_token>
#include <thread>
#include <vector>

using ekiden::fork_scope;
using ekiden::parallel_for;
using ekiden::parallel_invoke;
using namespace std::chrono_literals;

namespace {

template <class F>
void in_scope(ekiden::thread_pool& pool, F f) {
    parallel_invoke(pool, [&](fork_scope& scope) { f(scope); });
}

/// The number of leaves of a tree with `width` children a node.
long leaves(fork_scope& scope, int width, int height) {
    if (height == 0) return 1;
    std::vector<long> below(static_cast<std::size_t>(width));
    parallel_for(scope, 0, width, [&](fork_scope& s, int i) {
        below[static_cast<std::size_t>(i)] = leaves(s, width, height - 1);
    });
    return std::accumulate(below.begin(), below.end(), 0L);
}

/// Waits until `count` is `least`, 20 s at most.
bool reaches(const std::atomic<int>& count, int least) {
    const auto deadline = std::chrono::steady_clock::now() + 20s;
    while (count < least) {
        if (std::chrono::steady_clock::now() > deadline) return false;
        std::this_thread::yield();
    }
    return true;
}

} // namespace

TEST_CASE("a parallel_for that was given a scope makes each call once, whether its body takes one or not") {
    ekiden::thread_pool pool({.threads = 3});
    for (const std::size_t n : {0U, 1U, 2U, 3U, 10U, 1000U, 100'000U}) {
        std::vector<std::atomic<int>> calls(n);
        in_scope(pool, [&](fork_scope& scope) {
            parallel_for(scope, std::size_t{0}, n, [&](fork_scope&, std::size_t i) { ++calls[i]; });
            parallel_for(scope, std::size_t{0}, n, [&](std::size_t i) { ++calls[i]; });
            CHECK(parallel_for(scope, std::size_t{0}, n, [&](fork_scope&, std::size_t i) { ++calls[i]; },
                               {.grain = 7}));
            CHECK(parallel_for(scope, std::size_t{0}, n, [&](std::size_t i) { ++calls[i]; }, {.grain = 7}));
        });
        parallel_for(pool, std::size_t{0}, n, [&](fork_scope&, std::size_t i) { ++calls[i]; });
        bool all = true;
        for (const auto& c : calls) all = all && c == 5;
        CHECK(all);
    }
}

TEST_CASE("a parallel_for in a scope counts over the whole range of its type, and not backwards") {
    ekiden::thread_pool pool({.threads = 2});
    in_scope(pool, [](fork_scope& scope) {
        std::atomic<int> calls = 0;
        std::atomic<int> sum = 0;
        parallel_for(scope, std::int8_t{-128}, std::int8_t{127}, [&](fork_scope&, std::int8_t i) {
            ++calls;
            sum += i;
        });
        CHECK(calls == 255);
        CHECK(sum == -255);
        constexpr auto least = std::numeric_limits<std::int64_t>::min();
        parallel_for(scope, least, least + 3, [&](fork_scope&, std::int64_t i) { CHECK(i <= least + 2); });
        parallel_for(scope, 5, 3, [](fork_scope&, int) { CHECK(false); });
        parallel_for(scope, 5, 3, [](int) { CHECK(false); });
    });
}

TEST_CASE("recursions through parallel_for give the right result in pools of every size") {
    for (const unsigned threads : {1U, 2U, 3U, 7U}) {
        ekiden::thread_pool pool({.threads = threads});
        for (int round = 0; round != 5; ++round) {
            in_scope(pool, [](fork_scope& scope) {
                CHECK(leaves(scope, 10, 4) == 10'000);
                CHECK(leaves(scope, 1, 50) == 1);
                CHECK(leaves(scope, 3, 8) == 6561);
            });
        }
    }
}

TEST_CASE("all iterations that have not begun are on offer while one of them runs") {
    constexpr int count = 4;
    ekiden::thread_pool pool({.threads = count - 1});
    for (int round = 0; round != 20; ++round) {
        if (round % 2 == 0) std::this_thread::sleep_for(2ms);
        std::atomic<int> running = 0;
        std::atomic<int> met = 0;
        parallel_for(pool, 0, count, [&](fork_scope&, int) {
            ++running;
            if (reaches(running, count)) ++met;
        });
        CHECK(met == count);
    }
}

TEST_CASE("a loop whose rest is offered and taken back again and again needs no more stack for that") {
    // The worker is busy and the pool has told that it wants work: each offer is published, none is taken.
    std::atomic<int> begun = 0; // used by the task until the pool's end
    std::atomic<bool> end = false;
    ekiden::thread_pool pool({.threads = 1});
    pool.post([&] {
        ++begun;
        while (!end) std::this_thread::yield();
    });
    REQUIRE(reaches(begun, 1));
    std::atomic<int> calls = 0;
    parallel_for(pool, 0, 1'000'000, [&](fork_scope&, int) { ++calls; });
    CHECK(calls == 1'000'000);
    end = true;
}

TEST_CASE("an exception of an iteration ends the loop in all threads and is thrown") {
    ekiden::thread_pool pool({.threads = 2});
    for (int round = 0; round != 200; ++round) {
        std::atomic<int> calls = 0;
        std::atomic<int> running = 0;
        const int thrower = round % 10;
        const auto body = [&](fork_scope& scope, int i) {
            ++running;
            if (round % 3 == 0) parallel_invoke(scope, [] {}, [] {});
            if (round % 5 == 0 && i == thrower) std::this_thread::sleep_for(50us);
            ++calls;
            --running;
            if (i == thrower) throw std::runtime_error("enough");
        };
        in_scope(pool, [&](fork_scope& scope) {
            CHECK_THROWS_WITH(parallel_for(scope, 0, 1'000'000'000, body), "enough");
            CHECK(running == 0);
            CHECK(calls < 1'000'000'000);
        });
        CHECK_THROWS_WITH(parallel_for(pool, 0, 1'000'000'000, body, {.grain = 3}), "enough");
        CHECK(running == 0);
    }
}

TEST_CASE("what several iterations throw is reachable") {
    constexpr int count = 3;
    ekiden::thread_pool pool({.threads = count});
    for (int round = 0; round != 20; ++round) {
        std::atomic<int> running = 0;
        CHECK_THROWS_AS(parallel_for(pool, 0, count,
                                     [&](fork_scope&, int i) {
                                         ++running;
                                         CHECK(reaches(running, count));
                                         throw i;
                                     }),
                        int);
        CHECK(ekiden::suppressed_exceptions().size() == count - 1);
    }
}

TEST_CASE("a stop token ends a loop of forks early") {
    ekiden::thread_pool pool({.threads = 2});
    std::stop_source source;
    std::atomic<int> calls = 0;
    const auto body = [&](fork_scope&, int) {
        if (++calls == 1000) source.request_stop();
    };
    in_scope(pool, [&](fork_scope& scope) {
        CHECK_FALSE(parallel_for(scope, 0, 1'000'000'000, body, {.stop = source.get_token()}));
    });
    CHECK(calls >= 1000);
    CHECK(calls < 1'000'000'000);
    const int before = calls;
    CHECK_FALSE(parallel_for(pool, 0, 10, body, {.stop = source.get_token()}));
    CHECK(calls == before);
}

TEST_CASE("a loop of forks reports its progress") {
    ekiden::thread_pool pool({.threads = 2});
    std::size_t last = 0; // one call at a time
    CHECK(parallel_for(pool, 0, 5000, [](fork_scope&, int) {},
                       {.progress = [&](std::size_t done, std::size_t total) {
                           CHECK(total == 5000);
                           CHECK(done > last);
                           last = done;
                       }}));
    CHECK(last == 5000);
}
