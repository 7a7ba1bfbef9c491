/// Experiment fork-join: recursions that call themselves twice, without a cut-off below which they would be
/// serial.
///
/// The result of each repetition is compared with that of the plain function.
#pragma once

#include <lab/harness/cell.hpp>
#include <lab/harness/task_system.hpp>
#include <lab/peers/serial.hpp>

#include <cstdint>
#include <string>

namespace lab::fork_join {

/// Each workload: call(place, n) with System::both(). Not inlined: compilers see through the plain recursion
/// so far that they save most of the calls, which is not what the forks are compared with.
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

/// An unbalanced tree: one child is almost as large as its parent, the other one has an eighth of its height.
/// Returns the number of leaves, one more than there are forks.
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

/// The number of ways to place n queens on a board so that none attacks another.
struct queens {
    struct board {
        std::uint32_t full, columns, left, right; // bits: taken columns and diagonals of the next row
    };

    template <class System>
    [[gnu::noinline]] static std::int64_t call(typename System::place& here, std::int64_t n) {
        const std::uint32_t full = (1U << n) - 1;
        return rows<System>(here, board{full, 0, 0, 0}, full);
    }

    /// The ways to go on with one of the columns `open` in this row.
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

/// Skynet: the sum of the numbers of all leaves of a tree in which each node has ten children. A fork of a
/// number of calls: System::each(place, child) calls child(place, i) for i in [0, 10), and returns the
/// sum; without it, the calls are split by halves.
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

template <class System, class Workload>
void measure(cell& c, std::int64_t height, unsigned workers) {
    peers::serial plain(1);
    const auto compute = [height](auto& system, auto type) {
        using system_type = typename decltype(type)::type;
        std::int64_t n = height;
        asm volatile("" : "+r"(n)); // a result is not known from the call before
        if constexpr (requires { system.compute(Workload(), n); }) // written in another language
            return system.compute(Workload(), n);
        else
            return system.root([n](typename system_type::place& here) {
                return Workload::template call<system_type>(here, n);
            });
    };
    const std::int64_t expected = compute(plain, std::type_identity<peers::serial>());
    System system(workers);
    const auto run = [&] {
        const std::int64_t found = compute(system, std::type_identity<System>());
        if (found != expected)
            c.fail("the result is " + std::to_string(found) + " instead of " + std::to_string(expected));
    };
    run();
    for (unsigned r = 0; c.again(r); ++r) {
        repetition found;
        found.used = c.measure(run);
        found.figures["ms"] = found.used.wall_s * 1e3;
        found.figures["cpu_ms"] = found.used.cpu_s() * 1e3;
        c.report(found);
    }
}

template <class System>
void run(cell& c) {
    const std::string& variant = c.asked().variant;
    const unsigned workers = variant.ends_with(", 1 thread") ? 1 : c.workers();
    if (variant == "tree")
        measure<System, lopsided>(c, static_cast<std::int64_t>(c.pick(40, 1500, 1500)), workers);
    else if (variant == "queens")
        measure<System, queens>(c, static_cast<std::int64_t>(c.pick(6, 11, 11)), workers);
    else if (variant.starts_with("skynet"))
        measure<System, skynet>(c, static_cast<std::int64_t>(c.pick(1000, 10'000'000, 10'000'000)), workers);
    else
        measure<System, fib>(c, static_cast<std::int64_t>(c.pick(16, 35, 35)), workers);
}

} // namespace lab::fork_join
