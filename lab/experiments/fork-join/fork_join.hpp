/// Experiment fork-join: functions that call themselves twice, without a cut-off for serial execution.
///
/// The result of each repetition is compared with that of the serial function.
#pragma once

#include <lab/harness/busy.hpp>
#include <lab/harness/busy_neighbour.hpp>
#include <lab/harness/cell.hpp>
#include <lab/harness/task_system.hpp>
#include <lab/peers/serial.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace lab::fork_join {

/// Each workload is call(place, n) with System::both(). Not inlined: compilers optimize the serial recursion
/// so far that they save most of the calls, which would not be a fair comparison.
struct fib {
    template <class System>
    [[gnu::noinline]] static std::int64_t call(typename System::place& here, std::int64_t n) {
        using place = typename System::place;
        if (n < 2) return n;
        auto [a, b] = System::both(
            here, [n](place& p) { return call<System>(p, n - 1); },
            [n](place& p) { return call<System>(p, n - 2); });
        return a + b;
    }
};

/// An unbalanced tree. One child is almost as large as its parent. The other has an eighth of the parent's
/// height. Returns the number of leaves, which is one more than the number of forks.
struct lopsided {
    template <class System>
    [[gnu::noinline]] static std::int64_t call(typename System::place& here, std::int64_t height) {
        using place = typename System::place;
        if (height < 2) return 1;
        auto [a, b] = System::both(
            here, [height](place& p) { return call<System>(p, height - 1); },
            [height](place& p) { return call<System>(p, height / 8); });
        return a + b;
    }
};

/// The number of ways to place n queens on a board so that no queen attacks another.
struct queens {
    struct board {
        std::uint32_t full, columns, left, right; // bit sets: occupied columns and diagonals of the next row
    };

    template <class System>
    [[gnu::noinline]] static std::int64_t call(typename System::place& here, std::int64_t n) {
        const std::uint32_t full = (1U << n) - 1;
        return rows<System>(here, board{full, 0, 0, 0}, full);
    }

    /// Returns the number of solutions with one of the columns `open` in this row.
    template <class System>
    [[gnu::noinline]] static std::int64_t rows(typename System::place& here, board b, std::uint32_t open) {
        using place = typename System::place;
        if (open == 0) return b.columns == b.full ? 1 : 0;
        const std::uint32_t first = open & -open;
        const auto below = [b, first](place& p) {
            const board next{b.full, b.columns | first, ((b.left | first) << 1) & b.full,
                             (b.right | first) >> 1};
            return rows<System>(p, next, next.full & ~(next.columns | next.left | next.right));
        };
        if (open == first) return below(here);
        auto [with, without] = System::both(
            here, below, [b, rest = open & ~first](place& p) { return rows<System>(p, b, rest); });
        return with + without;
    }
};

/// Skynet: the sum of the numbers of all leaves of a tree in which each node has ten children. It forks
/// several calls at once: System::each(place, child) calls child(place, i) for i in [0, 10) and returns the
/// sum. Without it, the calls are split by halves.
struct skynet {
    template <class System>
    [[gnu::noinline]] static std::int64_t call(typename System::place& here, std::int64_t size) {
        return leaves<System>(here, 0, size);
    }

    template <class System>
    [[gnu::noinline]] static std::int64_t leaves(typename System::place& here, std::int64_t first,
                                                 std::int64_t size) {
        using place = typename System::place;
        if (size == 1) return first;
        const std::int64_t part = size / 10;
        const auto child = [first, part](place& p, int i) {
            return leaves<System>(p, first + i * part, part);
        };
        if constexpr (requires { System::each(here, child); })
            return System::each(here, child);
        else
            return halves<System>(here, child, 0, 10);
    }

    template <class System, class Child>
    static std::int64_t halves(typename System::place& here, const Child& child, int from, int to) {
        using place = typename System::place;
        if (to - from == 1) return child(here, from);
        const int middle = (from + to) / 2;
        auto [a, b] = System::both(
            here, [child, from, middle](place& p) { return halves<System>(p, child, from, middle); },
            [child, middle, to](place& p) { return halves<System>(p, child, middle, to); });
        return a + b;
    }
};

/// The product of two n x n matrices, where n is a power of two. It is computed by quarters, with the eight
/// products in two groups of four, down to blocks of 32 x 32.
struct matmul {
    using number = std::uint32_t;

    /// A part of a matrix: `at[row * stride + column]`.
    struct part {
        number* at;
        std::int64_t stride;
        [[nodiscard]] part quarter(std::int64_t half, int row, int column) const {
            return {at + row * half * stride + column * half, stride};
        }
    };

    template <class System>
    [[gnu::noinline]] static std::int64_t call(typename System::place& here, std::int64_t n) {
        const auto size = static_cast<std::size_t>(n * n);
        static std::vector<number> a, b, product; // static, so that creating them is measured only once
        if (a.size() != size) {
            a.resize(size);
            b.resize(size);
            for (std::size_t i = 0; i != size; ++i) {
                a[i] = static_cast<number>(i * 7);
                b[i] = static_cast<number>(i * 5 + 1);
            }
        }
        product.assign(size, 0);
        add<System>(here, part{product.data(), n}, part{a.data(), n}, part{b.data(), n}, n);
        std::uint64_t sum = 0;
        for (const number one : product) sum = sum * 31 + one;
        return static_cast<std::int64_t>(sum);
    }

    /// c += a * b
    template <class System>
    [[gnu::noinline]] static void add(typename System::place& here, part c, part a, part b, std::int64_t n) {
        if (n <= 32) return add_block(c, a, b, n);
        using place = typename System::place;
        const std::int64_t half = n / 2;
        for (int k = 0; k != 2; ++k) {
            const auto one = [=](place& p, int row, int column) {
                add<System>(p, c.quarter(half, row, column), a.quarter(half, row, k),
                            b.quarter(half, k, column), half);
                return 0;
            };
            const auto both = [one](place& p, int row) {
                System::both(
                    p, [one, row](place& q) { return one(q, row, 0); },
                    [one, row](place& q) { return one(q, row, 1); });
                return 0;
            };
            System::both(
                here, [both](place& p) { return both(p, 0); }, [both](place& p) { return both(p, 1); });
        }
    }

    static void add_block(part c, part a, part b, std::int64_t n) {
        for (std::int64_t i = 0; i != n; ++i)
            for (std::int64_t k = 0; k != n; ++k) {
                const number factor = a.at[i * a.stride + k];
                number* const to = c.at + i * c.stride;
                const number* const from = b.at + k * b.stride;
                for (std::int64_t j = 0; j != n; ++j) to[j] += factor * from[j];
            }
    }
};

/// A loop of 64 iterations, each of which is a loop of 200 calls of turn(). Returns the sum of their results.
struct nested {
    static constexpr std::size_t outer = 64;
    static constexpr std::size_t inner = 200;

    template <class System>
    static std::int64_t loops(System& system, std::int64_t turns) {
        std::vector<std::int64_t> sums(outer * inner);
        system.nested(outer, inner, [&sums, turns](std::size_t i, std::size_t k) {
            const std::size_t number = i * inner + k;
            sums[number] = static_cast<std::int64_t>(turn(static_cast<std::uint64_t>(turns), number) >> 16);
        });
        std::int64_t sum = 0;
        for (const std::int64_t one : sums) sum += one;
        return sum;
    }
};

template <class Workload, class System>
std::int64_t compute(System& system, std::int64_t n) {
    asm volatile("" : "+r"(n));                                // a result is not known from the call before
    if constexpr (requires { system.compute(Workload(), n); }) // written in another language
        return system.compute(Workload(), n);
    else if constexpr (requires { Workload::loops(system, n); })
        return Workload::loops(system, n);
    else
        return system.root(
            [n](typename System::place& here) { return Workload::template call<System>(here, n); });
}

/// Returns how many calls take 60 ms. The system shares a processor in slices of about 4 ms. For a shorter
/// measurement, chance decides whether it loses a slice.
inline int calls_of_many_slices(double call_s) { return std::max(1, static_cast<int>(0.06 / call_s)); }

template <class System, class Workload>
void measure(cell& c, std::int64_t height, unsigned workers) {
    peers::serial plain(1);
    const std::int64_t expected = compute<Workload>(plain, height);
    System system(workers);
    const auto run = [&] {
        const std::int64_t found = compute<Workload>(system, height);
        if (found != expected)
            c.fail("the result is " + std::to_string(found) + " instead of " + std::to_string(expected));
    };
    run();
    const bool is_busy = c.asked().variant.ends_with(", busy");
    const bool is_long = is_busy && c.asked().scale != scale::smoke;
    const int calls = is_long ? calls_of_many_slices(c.measure(run).wall_s) : 1;
    const auto run_all = [&] {
        for (int i = 0; i != calls; ++i) run();
    };
    for (unsigned r = 0; c.again(r); ++r) {
        repetition found;
        const double quiet_s = is_busy ? c.measure(run_all).wall_s : 0;
        const std::optional<busy_neighbour> neighbour =
            is_busy ? std::optional<busy_neighbour>(std::in_place) : std::nullopt;
        found.used = c.measure(run_all);
        found.figures["ms"] = found.used.wall_s * 1e3 / calls;
        found.figures["cpu_ms"] = found.used.cpu_s() * 1e3 / calls;
        if (is_busy) found.figures["slowdown"] = found.used.wall_s / quiet_s;
        c.report(found);
    }
}

template <class System>
void run(cell& c) {
    const std::string& variant = c.asked().variant;
    const unsigned workers = variant.ends_with(", 1 thread") ? 1 : c.workers();
    const auto is = [&variant](const char* name) { return variant.starts_with(name); };
    if (is("tree"))
        measure<System, lopsided>(c, static_cast<std::int64_t>(c.pick(40, 1500, 1500)), workers);
    else if (is("queens"))
        measure<System, queens>(c, static_cast<std::int64_t>(c.pick(6, 11, 11)), workers);
    else if (is("skynet"))
        measure<System, skynet>(c, static_cast<std::int64_t>(c.pick(1000, 10'000'000, 10'000'000)), workers);
    else if (is("matmul"))
        measure<System, matmul>(c, static_cast<std::int64_t>(c.pick(64, 512, 1024)), workers);
    else if (is("nested"))
        measure<System, nested>(c, static_cast<std::int64_t>(c.asked().turns_per_us / 2), workers);
    else
        measure<System, fib>(c, static_cast<std::int64_t>(c.pick(16, 35, 35)), workers);
}

} // namespace lab::fork_join
