/// Experiment parallel-for: loops, a sum, and sorting.
///
/// The result of each repetition is compared with that of the serial loop.
#pragma once

#include <lab/harness/cell.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace lab::parallel_for {

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

inline float light(float value, std::size_t i) { return std::sqrt(value + static_cast<float>(i)); }

inline float skewed(float value, std::size_t i) {
    for (std::size_t k = 0; k != i / 8; ++k) value = value * 0.999F + 0.5F;
    return value;
}

/// Applies `f` to each element of an array.
template <class System>
void map(cell& c, std::size_t n, float (*f)(float, std::size_t), System& system) {
    std::vector<float> values(n);
    std::vector<float> expected(n, 1.5F);
    for (std::size_t i = 0; i != n; ++i) expected[i] = f(expected[i], i);
    repeat(
        c, [&] { std::fill(values.begin(), values.end(), 1.5F); },
        [&] {
            float* const at = values.data();
            if constexpr (requires { system.light(at, n); }) // written in another language
                f == &light ? system.light(at, n) : system.skewed(at, n);
            else if (f == &light)
                system.loop(n, [at](std::size_t i) { at[i] = light(at[i], i); });
            else
                system.loop(n, [at](std::size_t i) { at[i] = skewed(at[i], i); });
        },
        [&] {
            if (values != expected) c.fail("an iteration is missing or was made twice");
        });
}

template <class System>
void reduce(cell& c, std::size_t n, System& system) {
    const auto term = [](std::size_t i) { return 1.0 / static_cast<double>(i + 1); };
    double expected = 0;
    for (std::size_t i = 0; i != n; ++i) expected += term(i);
    double found = 0;
    repeat(
        c, [&] { found = 0; },
        [&] {
            if constexpr (requires { system.harmonic(n); })
                found = system.harmonic(n);
            else
                found = system.sum(n, term);
        },
        [&] {
            if (!(std::abs(found - expected) < 1e-6)) c.fail("the sum is wrong: " + std::to_string(found));
        });
}

template <class System>
void sort(cell& c, std::size_t n, System& system) {
    if constexpr (requires(std::vector<unsigned>& v) { system.sort(v); }) {
        std::mt19937 random(1);
        std::vector<unsigned> input(n);
        for (unsigned& value : input) value = static_cast<unsigned>(random());
        std::vector<unsigned> expected = input;
        std::sort(expected.begin(), expected.end());
        std::vector<unsigned> values;
        repeat(
            c, [&] { values = input; }, [&] { system.sort(values); },
            [&] {
                if (values != expected) c.fail("not sorted");
            });
    } else {
        c.not_applicable("has no sort");
    }
}

template <class System>
void run(cell& c) {
    System system(c.workers());
    const std::string& variant = c.asked().variant;
    if (variant == "light")
        map(c, c.pick(10'000, 20'000'000, 20'000'000), &light, system);
    else if (variant == "skewed")
        map(c, c.pick(100, 20'000, 20'000), &skewed, system);
    else if (variant == "reduce")
        reduce(c, c.pick(10'000, 20'000'000, 20'000'000), system);
    else
        sort(c, c.pick(10'000, 4'000'000, 4'000'000), system);
}

} // namespace lab::parallel_for
