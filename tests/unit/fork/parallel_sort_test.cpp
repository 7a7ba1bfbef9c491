#include <ekiden/fork/parallel_sort.hpp>

#include <ekiden/pool/thread_pool.hpp>
#include <ekiden/sys/random.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

using ekiden::parallel_sort;

namespace {

std::vector<int> numbers(std::size_t count, std::uint32_t below) {
    ekiden::sys::random random(7);
    std::vector<int> result(count);
    for (int& n : result) n = static_cast<int>(random.below(below));
    return result;
}

} // namespace

TEST_CASE("parallel_sort sorts random, equal, sorted, reversed and sawtooth input") {
    ekiden::thread_pool pool({.threads = 3});
    for (const std::size_t count : {0U, 1U, 2U, 100U, 5'000U, 300'000U}) {
        for (const std::uint32_t values : {1U, 2U, 1000U, 2'000'000'000U}) {
            std::vector<std::vector<int>> inputs(5, numbers(count, values));
            std::sort(inputs[1].begin(), inputs[1].end());
            std::sort(inputs[2].begin(), inputs[2].end(), std::greater<>());
            for (std::size_t i = 0; i != count; ++i) {
                inputs[3][i] = static_cast<int>(i % 1000);
                inputs[4][i] = static_cast<int>(std::min(i, count - i));
            }
            for (auto& input : inputs) {
                auto expected = input;
                std::sort(expected.begin(), expected.end());
                CHECK(parallel_sort(pool, input));
                CHECK(input == expected);
            }
        }
    }
}

TEST_CASE("parallel_sort takes a comparison and elements that can only be moved") {
    std::vector<std::unique_ptr<int>> owned;
    for (const int n : numbers(20'000, 1'000'000)) owned.push_back(std::make_unique<int>(n));
    parallel_sort(owned, [](const auto& a, const auto& b) { return *a > *b; });
    CHECK(std::is_sorted(owned.begin(), owned.end(), [](const auto& a, const auto& b) { return *a > *b; }));
    std::vector<std::string> words;
    for (const int n : numbers(20'000, 1'000'000)) words.push_back(std::to_string(n) + " and some more text");
    parallel_sort(words.begin(), words.end(), std::greater<>());
    CHECK(std::is_sorted(words.begin(), words.end(), std::greater<>()));
}

TEST_CASE("parallel_sort throws what the comparison throws") {
    auto input = numbers(100'000, 1'000'000);
    std::atomic<int> left = 500'000;
    CHECK_THROWS_WITH(parallel_sort(input,
                                    [&](int a, int b) {
                                        if (--left == 0) throw std::runtime_error("enough");
                                        return a < b;
                                    }),
                      "enough");
}

TEST_CASE("parallel_sort takes any grain and reports its progress") {
    ekiden::thread_pool pool({.threads = 2});
    for (const std::size_t grain :
         {std::size_t{1}, std::size_t{100}, std::numeric_limits<std::size_t>::max()}) {
        auto input = numbers(50'000, 1'000'000);
        std::size_t last = 0; // one call at a time
        CHECK(parallel_sort(pool, input, std::less<>(),
                            {.grain = grain, .progress = [&](std::size_t done, std::size_t total) {
                                 CHECK(total == 50'000);
                                 CHECK(done > last);
                                 last = done;
                             }}));
        CHECK(last == 50'000);
        CHECK(std::is_sorted(input.begin(), input.end()));
    }
}
