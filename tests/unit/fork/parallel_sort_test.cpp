#include <ekiden/fork/parallel_sort.hpp>

#include <ekiden/pool/thread_pool.hpp>
#include <ekiden/sys/random.hpp>

#include <doctest/doctest.h>

#include <tests/unit/effort.hpp>

#include <algorithm>
#include <atomic>
#include <functional>
#include <limits>
#include <memory>
#include <stdexcept>
#include <stop_token>
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
    for (const int length : {0, 1, 2, 100, 5'000, ekiden_test::rounds(300'000)}) {
        const auto count = static_cast<std::size_t>(length);
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
                parallel_sort(pool, input);
                CHECK(input == expected);
            }
        }
    }
}

namespace {

template <class T, class Compare>
void check_numbers(ekiden::thread_pool& pool, Compare compare) {
    ekiden::sys::random random(3);
    for (const int length : {0, 1, 15, 16, 17, 300, 5'000, ekiden_test::rounds(100'000)}) {
        const auto count = static_cast<std::size_t>(length);
        for (const int kind : {0, 1, 2, 3}) {
            std::vector<T> input(count);
            for (T& n : input)
                n = static_cast<T>(static_cast<T>(random.below(kind == 0 ? 3 : 2'000'000'000)) - 1000);
            if (count > 2) {
                input[count / 2] = std::numeric_limits<T>::max();
                input[count / 3] = std::numeric_limits<T>::lowest();
            }
            if (kind >= 2) std::sort(input.begin(), input.end());
            if (kind == 3) // nearly sorted
                for (std::size_t i = 0; i < count; i += 50)
                    std::swap(input[i], input[random.below(static_cast<std::uint32_t>(count))]);
            auto expected = input;
            std::sort(expected.begin(), expected.end(), compare);
            parallel_sort(pool, input, compare);
            CHECK(input == expected);
        }
    }
}

} // namespace

TEST_CASE("parallel_sort sorts numbers of all types, up and down") {
    ekiden::thread_pool pool({.threads = 2});
    check_numbers<unsigned char>(pool, std::less<>());
    check_numbers<short>(pool, std::greater<short>());
    check_numbers<std::uint32_t>(pool, std::less<std::uint32_t>());
    check_numbers<std::int64_t>(pool, std::greater<>());
    check_numbers<float>(pool, std::ranges::less());
    check_numbers<double>(pool, std::ranges::greater());
}

TEST_CASE("the sorting networks of small parts sort everything that fits") {
    // A network that sorts all sequences of zeros and ones sorts all sequences (D. E. Knuth).
    using up = ekiden::detail::branchless_sort<int, false>;
    using down = ekiden::detail::branchless_sort<int, true>;
    bool all = true;
    for (unsigned count = 0; count <= 16; ++count) {
        for (unsigned bits = 0; bits != 1U << count; ++bits) {
            int numbers[16];
            for (unsigned i = 0; i != count; ++i) numbers[i] = static_cast<int>(bits >> i & 1U);
            const auto ones = std::count(numbers, numbers + count, 1);
            up::sort(numbers, numbers + count, nullptr, 1);
            all = all && std::is_sorted(numbers, numbers + count);
            all = all && std::count(numbers, numbers + count, 1) == ones;
            down::sort(numbers, numbers + count, nullptr, 1);
            all = all && std::is_sorted(numbers, numbers + count, std::greater<>());
            all = all && std::count(numbers, numbers + count, 1) == ones;
        }
    }
    CHECK(all);
}

TEST_CASE("numbers that are no numbers stay what they are when they are sorted") {
    // There is no order then; but nothing is lost or written elsewhere.
    const double no_number = std::numeric_limits<double>::quiet_NaN();
    std::vector<double> input;
    for (const int n : numbers(20'000, 1000)) input.push_back(n % 3 == 0 ? no_number : n);
    const auto known = [](std::vector<double> all) {
        std::erase_if(all, [](double x) { return x != x; });
        std::sort(all.begin(), all.end());
        return all;
    };
    const auto before = known(input);
    parallel_sort(input);
    CHECK(known(input) == before);
}

TEST_CASE("a stop request ends the sorting of numbers") {
    std::stop_source source;
    auto input = numbers(300'000, 1'000'000);
    CHECK_FALSE(parallel_sort(
        input, std::less<>(),
        {.stop = source.get_token(), .progress = [&](std::size_t, std::size_t) { source.request_stop(); }}));
    CHECK_THROWS_WITH(
        parallel_sort(input, std::less<>(),
                      {.progress = [](std::size_t, std::size_t) { throw std::runtime_error("no"); }}),
        "no");
    parallel_sort(input);
    CHECK(std::is_sorted(input.begin(), input.end()));
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
