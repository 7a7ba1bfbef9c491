// The two bounds of parallel_for() and parallel_reduce(): which types they may have, and what the body gets.
#include <ekiden/fork/parallel_for.hpp>
#include <ekiden/fork/parallel_reduce.hpp>
#include <ekiden/pool/thread_pool.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <stdexcept>
#include <vector>

using ekiden::fork_scope;
using ekiden::parallel_for;
using ekiden::parallel_invoke;
using ekiden::parallel_reduce;

TEST_CASE("parallel_for takes 0 and a size, and its body gets a size") {
    std::vector<int> v(1000);
    const auto add_one = [&v](auto i) {
        static_assert(std::same_as<decltype(i), std::size_t>);
        ++v[i];
    };
    ekiden::thread_pool pool({.threads = 2});
    parallel_for(0, v.size(), add_one);
    parallel_for(pool, 0, v.size(), add_one);
    CHECK(parallel_for(0, v.size(), add_one, {.grain = 10}));
    CHECK(parallel_for(pool, 0, v.size(), add_one, {.grain = 10}));
    parallel_invoke(pool, [&](fork_scope& scope) {
        parallel_for(scope, 0, v.size(), add_one);
        CHECK(parallel_for(scope, 0, v.size(), add_one, {.grain = 10}));
    });
    CHECK(v == std::vector<int>(1000, 6));
}

TEST_CASE("parallel_reduce takes 0 and a size, and its map gets a size") {
    const std::vector<int> v(1000, 3);
    const auto element = [&v](auto i) {
        static_assert(std::same_as<decltype(i), std::size_t>);
        return v[i];
    };
    ekiden::thread_pool pool({.threads = 2});
    CHECK(parallel_reduce(0, v.size(), 0, element) == 3000);
    CHECK(parallel_reduce(pool, 0, v.size(), 0, element, std::plus<>(), {.deterministic = true}) == 3000);
}

TEST_CASE("a body that forks gets numbers of the common type of mixed bounds") {
    ekiden::thread_pool pool({.threads = 2});
    std::atomic<std::size_t> sum = 0;
    const auto add = [&sum](fork_scope&, auto i) {
        static_assert(std::same_as<decltype(i), std::size_t>);
        sum += i;
    };
    parallel_for(pool, 1, std::size_t{5}, add);
    parallel_invoke(pool, [&](fork_scope& scope) { parallel_for(scope, 1, std::size_t{5}, add); });
    CHECK(sum == 20);
}

TEST_CASE("mixed bounds may come in either order, and may be empty") {
    std::atomic<int> calls = 0;
    parallel_for(3U, 7, [&](unsigned) { ++calls; });
    CHECK(calls == 4);
    parallel_for(std::int64_t{3}, 7U, [&](std::int64_t) { ++calls; });
    CHECK(calls == 8);
    constexpr auto most = std::numeric_limits<std::uint64_t>::max();
    parallel_for(most, 7, [&](std::uint64_t) { ++calls; });
    parallel_for(7, 3U, [&](unsigned) { ++calls; });
    CHECK(calls == 8);
}

TEST_CASE("a negative bound beside an unsigned one is refused before anything runs") {
    ekiden::thread_pool pool({.threads = 2});
    const std::size_t size = 5;
    std::atomic<int> calls = 0;
    const auto call = [&calls](std::size_t) { ++calls; };
    const auto one = [&calls](std::size_t) { return ++calls, 1; };
    const char* const first =
        "ekiden: parallel_for: first is -3; allowed beside an unsigned bound are 0 and more";
    const char* const last =
        "ekiden: parallel_for: last is -1; allowed beside an unsigned bound are 0 and more";
    CHECK_THROWS_WITH_AS(parallel_for(-3, size, call), first, std::invalid_argument);
    CHECK_THROWS_WITH_AS(parallel_for(size, -1, call), last, std::invalid_argument);
    CHECK_THROWS_WITH_AS(parallel_for(pool, -3, size, call), first, std::invalid_argument);
    CHECK_THROWS_WITH_AS(parallel_for(-3, size, call, {.grain = 2}), first, std::invalid_argument);
    parallel_invoke(pool, [&](fork_scope& scope) {
        CHECK_THROWS_WITH_AS(parallel_for(scope, -3, size, call), first, std::invalid_argument);
        CHECK_THROWS_WITH_AS(parallel_for(scope, size, -1, [&calls](fork_scope&, std::size_t) { ++calls; }),
                             last, std::invalid_argument);
    });
    const char* const of_reduce =
        "ekiden: parallel_reduce: first is -3; allowed beside an unsigned bound are 0 and more";
    CHECK_THROWS_WITH_AS((void)parallel_reduce(-3, size, 0, one), of_reduce, std::invalid_argument);
    CHECK_THROWS_WITH_AS((void)parallel_reduce(pool, -3, size, 0, one), of_reduce, std::invalid_argument);
    CHECK(calls == 0);
}
