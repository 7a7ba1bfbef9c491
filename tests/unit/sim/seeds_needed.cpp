// Measures how many seeds the seeded bugs need, for each scheduler and for all of them mixed: median and
// worst of 20 starts. Also checks that the corrected versions are clean for 10,000 seeds, and counts the runs
// per second.
#include "bugs/bug.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <optional>
#include <vector>

using namespace ekiden;

namespace {

constexpr std::uint64_t most = 20'000;
constexpr std::uint64_t starts = 20;

/// Returns 0 if the bug was not found.
std::uint64_t seeds_until_found(const bugs::bug& one, std::optional<sim::scheduler> only,
                                std::uint64_t start) {
    sim::options chosen;
    chosen.first = 1 + start * 1'000'000; // without the dull run
    chosen.seeds = most;
    chosen.faults = one.faults;
    chosen.only = only;
    chosen.check_every = 0;
    chosen.max_shrinks = 0;
    chosen.prints = false;
    const auto result = sim::explore(chosen, one.broken);
    if (result.is_clean()) return most;
    return result.seed < chosen.first ? 1 : result.seed - chosen.first + 1; // 1 if the dull run shows the bug
}

void print_cell(const bugs::bug& one, std::optional<sim::scheduler> only) {
    std::vector<std::uint64_t> needed;
    for (std::uint64_t start = 0; start != starts; ++start)
        needed.push_back(seeds_until_found(one, only, start));
    std::sort(needed.begin(), needed.end());
    std::printf(" %5llu %6llu |", static_cast<unsigned long long>(needed[starts / 2]),
                static_cast<unsigned long long>(needed.back()));
    std::fflush(stdout);
}

} // namespace

int main() {
    std::printf("%-34s|%14s|%14s|%14s|%14s| repaired: runs, steps a run, runs/s\n",
                "bug: seeds, median and worst", "random", "priorities", "delay-bounded", "mixed");
    for (const bugs::bug& one : bugs::all()) {
        std::printf("%2d %-31s|", one.number, one.name);
        print_cell(one, sim::scheduler::random);
        print_cell(one, sim::scheduler::priorities);
        print_cell(one, sim::scheduler::delay_bounded);
        print_cell(one, std::nullopt);
        sim::options chosen;
        chosen.seeds = 10'000;
        chosen.faults = one.faults;
        const auto begin = std::chrono::steady_clock::now();
        const auto result = sim::explore(chosen, one.repaired);
        const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
        std::printf(" %s %llu, %.1f, %.0f\n", result.is_clean() ? "clean" : "FAILED",
                    static_cast<unsigned long long>(result.runs),
                    static_cast<double>(result.steps) / static_cast<double>(result.runs),
                    static_cast<double>(result.runs) / took.count());
        std::fflush(stdout);
    }
}
