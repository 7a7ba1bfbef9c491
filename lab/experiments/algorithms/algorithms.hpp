/// Experiment algorithms: scans, searches that end early, stable sorting, and values for each thread.
///
/// The result of each repetition is compared with that of the serial algorithm.
#pragma once

#include <lab/harness/cell.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <numeric>
#include <random>
#include <string>
#include <vector>

namespace lab::algorithms {

/// Runs `work()` repeatedly. `prepare()` runs before each call and `check()` after it, both untimed.
template <class Prepare, class Work, class Check>
void repeat(cell& c, Prepare prepare, Work work, Check check) {
    prepare();
    work();
    check();
    for (unsigned r = 0; c.again(r); ++r) {
        prepare();
        repetition found;
        found.used = c.measure(work);
        check();
        found.figures["ms"] = found.used.wall_s * 1e3;
        found.figures["cpu_ms"] = found.used.cpu_s() * 1e3;
        c.report(found);
    }
}

/// The function x -> factor * x + summand, modulo a prime. Two such functions can be composed, but not in the
/// other order. So a scan of them computes the states of a random generator.
struct affine {
    std::uint32_t factor;
    std::uint32_t summand;

    static constexpr std::uint64_t prime = 2'147'483'647;

    /// Returns the function that applies `a` first.
    friend affine operator*(const affine& a, const affine& b) {
        return {static_cast<std::uint32_t>(std::uint64_t{a.factor} * b.factor % prime),
                static_cast<std::uint32_t>((std::uint64_t{a.summand} * b.factor + b.summand) % prime)};
    }
    friend bool operator==(const affine&, const affine&) = default;
};

/// A record that is sorted by its key.
struct record {
    std::uint32_t key;
    std::uint32_t place;

    friend bool operator==(const record&, const record&) = default;
};

struct by_key {
    bool operator()(const record& a, const record& b) const { return a.key < b.key; }
};

template <class T, class Operation, class System>
void scan(cell& c, const std::vector<T>& input, Operation operation, System& system) {
    std::vector<T> expected(input.size());
    std::inclusive_scan(input.begin(), input.end(), expected.begin(), operation);
    std::vector<T> output(input.size());
    repeat(
        c, [&] { std::fill(output.begin(), output.end(), T{}); },
        [&] { system.scan(input, output, operation); },
        [&] {
            if (output != expected) c.fail("a prefix sum is wrong");
        });
}

template <class System>
void sums(cell& c, std::size_t n, System& system) {
    std::vector<std::uint64_t> input(n);
    for (std::size_t i = 0; i != n; ++i) input[i] = i * 7 % 100;
    scan(c, input, std::plus<>(), system);
}

template <class System>
void functions(cell& c, std::size_t n, System& system) {
    std::mt19937 random(1);
    std::vector<affine> input(n);
    for (affine& f : input)
        f = {static_cast<std::uint32_t>(random() % affine::prime),
             static_cast<std::uint32_t>(random() % 1000)};
    scan(c, input, std::multiplies<>(), system);
}

/// Finds the only match, which is at the position `at`.
template <class System>
void find(cell& c, std::size_t n, std::size_t at, System& system) {
    std::vector<std::uint32_t> values(n);
    for (std::size_t i = 0; i != n; ++i) values[i] = static_cast<std::uint32_t>(i % 1000);
    constexpr std::uint32_t wanted = 5000;
    values[at] = wanted;
    std::size_t found = 0;
    repeat(
        c, [&] { found = n; }, [&] { found = system.find(values, wanted); },
        [&] {
            if (found != at) c.fail("found another element: " + std::to_string(found));
        });
}

template <class System>
void sort(cell& c, std::size_t n, System& system) {
    std::mt19937 random(1);
    std::vector<record> input(n);
    for (std::size_t i = 0; i != n; ++i)
        input[i] = {static_cast<std::uint32_t>(random() % (n / 4)), static_cast<std::uint32_t>(i)};
    std::vector<record> expected = input;
    std::stable_sort(expected.begin(), expected.end(), by_key());
    std::vector<record> values;
    repeat(
        c, [&] { values = input; }, [&] { system.stable_sort(values); },
        [&] {
            if (values != expected) c.fail("not sorted, or not stable");
        });
}

template <class System>
void local_sums(cell& c, std::size_t n, System& system) {
    std::uint64_t found = 0;
    repeat(
        c, [&] { found = 0; }, [&] { found = system.local_sum(n); },
        [&] {
            if (found != std::uint64_t{n} * (n - 1) / 2) c.fail("the sum is wrong: " + std::to_string(found));
        });
}

/// The work of one task of the variant `limited`.
inline std::uint64_t turns(std::uint64_t seed) {
    for (int i = 0; i != 100; ++i) seed = seed * 6'364'136'223'846'793'005U + 1'442'695'040'888'963'407U;
    return seed;
}

template <class System>
void limited(cell& c, std::size_t n, System& system) {
    std::vector<std::uint64_t> results(n);
    std::vector<std::uint64_t> expected(n);
    for (std::size_t i = 0; i != n; ++i) expected[i] = turns(i);
    repeat(
        c, [&] { std::fill(results.begin(), results.end(), 0); },
        [&] { system.limited(n, [at = results.data()](std::size_t i) { at[i] = turns(i); }); },
        [&] {
            if (results != expected) c.fail("a task has not run");
        });
}

template <class System>
void run(cell& c) {
    System system(c.workers());
    const std::string& variant = c.asked().variant;
    const std::size_t n = c.pick(10'000, 20'000'000, 20'000'000);
    std::vector<std::uint64_t> const* const longs = nullptr;
    if (variant == "scan" || variant == "scan-functions") {
        if constexpr (requires(std::vector<std::uint64_t>& v) { system.scan(*longs, v, std::plus<>()); })
            variant == "scan" ? sums(c, n, system) : functions(c, n / 4, system);
        else
            c.not_applicable("has no scan");
    } else if (variant == "find-early" || variant == "find-late") {
        if constexpr (requires(std::vector<std::uint32_t>& v) { system.find(v, 1U); })
            find(c, n, variant == "find-early" ? n / 10 : n / 10 * 9, system);
        else
            c.not_applicable("has no search that ends early");
    } else if (variant == "stable-sort") {
        if constexpr (requires(std::vector<record>& v) { system.stable_sort(v); })
            sort(c, c.pick(10'000, 4'000'000, 4'000'000), system);
        else
            c.not_applicable("has no stable sort");
    } else if (variant == "local-sums") {
        if constexpr (requires { system.local_sum(n); })
            local_sums(c, n, system);
        else
            c.not_applicable("has no value for each thread");
    } else {
        if constexpr (requires { system.limited(n, [](std::size_t) {}); })
            limited(c, c.pick(1'000, 500'000, 500'000), system);
        else
            c.not_applicable("has no limit for the tasks of a group");
    }
}

} // namespace lab::algorithms
