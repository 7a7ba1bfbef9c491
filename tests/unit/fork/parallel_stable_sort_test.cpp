#include <ekiden/fork/parallel_stable_sort.hpp>

#include <ekiden/fork/parallel_for.hpp>
#include <ekiden/pool/thread_pool.hpp>
#include <ekiden/sys/random.hpp>

#include <doctest/doctest.h>

#include <tests/unit/effort.hpp>
#include <tests/unit/failing_allocations.hpp>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <memory>
#include <new>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <type_traits>
#include <vector>

using ekiden::parallel_stable_sort;

namespace {

struct entry {
    std::uint32_t key;
    std::uint32_t place;

    friend bool operator==(const entry&, const entry&) = default;
};

constexpr auto by_key = [](const entry& a, const entry& b) { return a.key < b.key; };
constexpr auto by_place = [](const entry& a, const entry& b) { return a.place < b.place; };

std::vector<entry> entries(std::size_t count, std::uint32_t keys) {
    ekiden::sys::random random(5);
    std::vector<entry> all(count);
    for (std::size_t i = 0; i != count; ++i) all[i] = {random.below(keys), static_cast<std::uint32_t>(i)};
    return all;
}

/// Sorts a vector like std::stable_sort, which clang with this standard library calls deprecated.
template <class T, class Less>
void stable_sort_alone(std::vector<T>& all, Less less) {
    std::vector<std::size_t> order(all.size());
    for (std::size_t i = 0; i != order.size(); ++i) order[i] = i;
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return less(all[a], all[b]) || (!less(all[b], all[a]) && a < b);
    });
    std::vector<T> sorted;
    for (const std::size_t i : order) sorted.push_back(all[i]);
    all = std::move(sorted);
}

/// Returns whether `all` has the places 0, 1, 2 ... in some order.
bool has_all(std::vector<entry> all) {
    std::sort(all.begin(), all.end(), by_place);
    for (std::size_t i = 0; i != all.size(); ++i) {
        if (all[i].place != i) return false;
    }
    return true;
}

} // namespace

TEST_CASE("parallel_stable_sort keeps the order of equal elements") {
    ekiden::thread_pool pool({.threads = 3});
    for (const int length : {0, 1, 2, 10, 11, 33, 1'000, 2'048, 2'049, 5'000, ekiden_test::rounds(200'000)}) {
        const auto count = static_cast<std::size_t>(length);
        for (const std::uint32_t keys : {1U, 2U, 100U, 2'000'000'000U}) {
            std::vector<std::vector<entry>> inputs(4, entries(count, keys));
            stable_sort_alone(inputs[1], by_key);
            std::reverse(inputs[2].begin(), inputs[2].end());
            stable_sort_alone(inputs[3], [](auto& a, auto& b) { return by_key(b, a); });
            for (const auto& input : inputs) {
                auto expected = input;
                stable_sort_alone(expected, by_key);
                auto all = input;
                CHECK(parallel_stable_sort(pool, all, by_key));
                CHECK(all == expected);
                all = input;
                CHECK(parallel_stable_sort(all.begin(), all.end(), by_key, {.grain = 50}));
                CHECK(all == expected);
            }
        }
    }
}

TEST_CASE("parallel_stable_sort sorts strings, elements that only move, and elements of a deque") {
    ekiden::thread_pool pool({.threads = 3});
    const auto shorter = [](const std::string& a, const std::string& b) { return a.size() < b.size(); };
    std::vector<std::string> words;
    for (const entry& e : entries(20'000, 30))
        words.push_back(std::string(e.key, 'x') + std::to_string(e.place));
    auto expected = words;
    stable_sort_alone(expected, shorter);
    std::deque<std::string> others(words.begin(), words.end());
    parallel_stable_sort(pool, words, shorter);
    CHECK(words == expected);
    parallel_stable_sort(others, shorter);
    CHECK(std::equal(others.begin(), others.end(), expected.begin(), expected.end()));

    std::vector<std::unique_ptr<int>> owners;
    for (const entry& e : entries(10'000, 1'000))
        owners.push_back(std::make_unique<int>(static_cast<int>(e.key)));
    parallel_stable_sort(pool, owners, [](const auto& a, const auto& b) { return *a < *b; });
    CHECK(std::is_sorted(owners.begin(), owners.end(), [](const auto& a, const auto& b) { return *a < *b; }));

    struct handle { // trivially copyable
        explicit handle(std::uint32_t k) : key(k) {}
        handle(handle&&) = default;
        handle& operator=(handle&&) = default;
        std::uint32_t key;
    };
    static_assert(std::is_trivially_copyable_v<handle>);
    std::vector<handle> handles;
    for (const entry& e : entries(10'000, 1'000)) handles.emplace_back(e.key);
    parallel_stable_sort(pool, handles, [](const handle& a, const handle& b) { return a.key < b.key; });
    CHECK(std::is_sorted(handles.begin(), handles.end(),
                         [](const auto& a, const auto& b) { return a.key < b.key; }));
}

TEST_CASE("parallel_stable_sort keeps the order of zeros with different signs") {
    ekiden::thread_pool pool({.threads = 2});
    std::vector<double> all;
    for (int i = 0; i != 10'000; ++i) all.push_back(i % 3 == 0 ? 0.0 : i % 3 == 1 ? -0.0 : i % 7 - 3.0);
    auto expected = all;
    stable_sort_alone(expected, std::less<>());
    parallel_stable_sort(pool, all);
    const auto same = [](double a, double b) { return std::signbit(a) == std::signbit(b) && a == b; };
    CHECK(std::equal(all.begin(), all.end(), expected.begin(), same));
    std::vector<int> integers(50'000);
    for (std::size_t i = 0; i != integers.size(); ++i) integers[i] = static_cast<int>(i * 7'919 % 50'000);
    parallel_stable_sort(pool, integers, std::greater<>());
    CHECK(std::is_sorted(integers.begin(), integers.end(), std::greater<>()));
}

TEST_CASE("numbers that are no numbers stay what they are when they are sorted stably") {
    ekiden::thread_pool pool({.threads = 2});
    std::vector<double> all;
    for (const entry& e : entries(50'000, 1'000))
        all.push_back(e.key % 3 == 0 ? std::numeric_limits<double>::quiet_NaN() : e.key);
    const auto known = [](std::vector<double> some) {
        std::erase_if(some, [](double x) { return x != x; });
        std::sort(some.begin(), some.end());
        return some;
    };
    const auto before = known(all);
    parallel_stable_sort(pool, all);
    CHECK(known(all) == before);
}

TEST_CASE("an exception of the comparison ends a stable sort, and no element is lost") {
    ekiden::thread_pool pool({.threads = 3});
    const auto input = entries(60'000, 5'000);
    for (const std::size_t last : {1U, 100U, 5'000U, 50'000U, 300'000U, 500'000U, 700'000U}) {
        std::atomic<std::size_t> calls{0};
        const auto fails = [&](const entry& a, const entry& b) {
            if (calls.fetch_add(1) >= last) throw std::runtime_error("no order");
            return by_key(a, b);
        };
        auto all = input;
        CHECK_THROWS_AS(parallel_stable_sort(pool, all, fails), std::runtime_error);
        CHECK(has_all(all));

        if (ekiden_test::is_sanitized && last > 50'000) continue; // each comparison of texts is slow
        std::vector<std::string> words;
        for (const entry& e : input)
            words.push_back("a long word: " + std::to_string(e.key) + " " + std::to_string(e.place));
        const auto expected = words;
        calls = 0;
        const auto refuses = [&](const std::string& a, const std::string& b) {
            if (calls.fetch_add(1) >= last) throw std::runtime_error("no order");
            return b < a;
        };
        CHECK_THROWS_AS(parallel_stable_sort(pool, words, refuses), std::runtime_error);
        std::sort(words.begin(), words.end());
        auto sorted = expected;
        std::sort(sorted.begin(), sorted.end());
        CHECK(words == sorted);
    }
}

TEST_CASE("a stop request ends a stable sort, which returns false, and no element is lost") {
    ekiden::thread_pool pool({.threads = 2});
    for (const std::size_t last : {100U, 20'000U, 400'000U}) {
        std::stop_source stop;
        std::atomic<std::size_t> calls{0};
        const auto stops = [&](const entry& a, const entry& b) {
            if (calls.fetch_add(1) == last) stop.request_stop();
            return by_key(a, b);
        };
        auto all = entries(60'000, 5'000);
        CHECK_FALSE(parallel_stable_sort(pool, all, stops, {.stop = stop.get_token()}));
        CHECK(has_all(all));
        const auto before = all;
        CHECK_FALSE(parallel_stable_sort(pool, all, stops, {.stop = stop.get_token()}));
        CHECK(all == before); // stopped before the call
    }
}

TEST_CASE("an exception of the progress report ends a stable sort, and no element is lost") {
    ekiden::thread_pool pool({.threads = 2});
    auto all = entries(100'000, 5'000);
    const auto fails = [](std::size_t done, std::size_t) {
        if (done > 30'000) throw std::runtime_error("no report");
    };
    CHECK_THROWS_AS(parallel_stable_sort(pool, all, by_key, {.progress = fails}), std::runtime_error);
    CHECK(has_all(all));
    std::size_t last = 0;
    parallel_stable_sort(pool, all, by_key,
                         {.progress = [&last](std::size_t done, std::size_t) { last = done; }});
    CHECK(last == all.size());
}

#ifndef EKIDEN_TSAN
namespace {

/// An element whose moves could throw.
struct moved_entry {
    std::unique_ptr<entry> value;

    explicit moved_entry(const entry& e) : value(std::make_unique<entry>(e)) {}
    moved_entry(moved_entry&& other) noexcept(false) : value(std::move(other.value)) {}
    moved_entry& operator=(moved_entry&& other) noexcept(false) {
        value = std::move(other.value);
        return *this;
    }
    friend bool operator==(const moved_entry& a, const entry& b) { return a.value && *a.value == b; }
};

/// Sorts copies of `input` in new pools. Each allocation of the sort fails in turn.
template <class T, class Less>
void sort_without_memory(const std::vector<entry>& input, Less less) {
    bool has_failed = true;
    for (long n = 0; has_failed; ++n) {
        ekiden::thread_pool pool({.threads = 1});
        std::vector<T> all;
        for (const entry& e : input) all.emplace_back(e);
        const ekiden_test::failing_allocation one(n);
        try {
            parallel_stable_sort(pool, all, less);
        } catch (const std::bad_alloc&) {
            CHECK(std::equal(all.begin(), all.end(), input.begin(), input.end()));
        }
        has_failed = one.has_failed();
    }
}

} // namespace

TEST_CASE("without memory, a stable sort throws bad_alloc and has no effect") {
    const auto input = entries(10'000, 100);
    sort_without_memory<entry>(input, by_key);
    sort_without_memory<moved_entry>(
        input, [](const moved_entry& a, const moved_entry& b) { return by_key(*a.value, *b.value); });
}
#endif

namespace {

/// An element that can only be copied, and whose copies fail after some time.
struct costly {
    static inline std::atomic<int> copies_left{0};
    static inline std::atomic<int> alive{0};

    explicit costly(int k) : key(k) { ++alive; }
    costly(const costly& other) : key(other.key) {
        if (--copies_left < 0) throw std::runtime_error("no copy");
        ++alive;
    }
    costly& operator=(const costly& other) {
        if (--copies_left < 0) throw std::runtime_error("no copy");
        key = other.key;
        return *this;
    }
    ~costly() { --alive; }

    int key;
};

} // namespace

TEST_CASE("copies that throw end a stable sort, and each element is destroyed once") {
    ekiden::thread_pool pool({.threads = 2});
    const auto less = [](const costly& a, const costly& b) { return a.key < b.key; };
    for (const int copies : {0, 100, 5'000, 8'000, 8'001, 8'002, 8'003, 8'010, 20'000, 20'001, 20'002, 20'003,
                             100'000, 10'000'000}) {
        {
            std::vector<costly> all;
            all.reserve(8'000);
            for (int i = 0; i != 8'000; ++i) all.emplace_back(i * 7'919 % 8'000);
            costly::copies_left = copies;
            if (copies == 10'000'000) {
                parallel_stable_sort(pool, all, less);
                CHECK(std::is_sorted(all.begin(), all.end(), less));
            } else {
                CHECK_THROWS_AS(parallel_stable_sort(pool, all, less), std::runtime_error);
            }
        }
        CHECK(costly::alive.load() == 0);
    }
}

TEST_CASE("a stable sort inside a parallel loop") {
    ekiden::thread_pool pool({.threads = 3});
    std::atomic<int> right{0};
    ekiden::parallel_for(pool, 0, 20, [&right](int i) {
        auto all = entries(5'000 + static_cast<std::size_t>(i), 50);
        auto expected = all;
        stable_sort_alone(expected, by_key);
        parallel_stable_sort(all, by_key, {.grain = 100});
        if (all == expected) ++right;
    });
    CHECK(right.load() == 20);
}
