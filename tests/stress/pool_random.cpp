// Random operations on whole pools, with exact accounts. Each task runs once or is reported. Each future has
// one outcome. Each callable is destroyed once. Sums are right, and an idle pool is really idle.
//
// A run consists of rounds. A round has a few pools with random options, a few threads that use them
// (drivers), and tasks that also use them. Each driver and each task has its own generator, seeded by its
// creator. So the decisions of a round can be repeated, but not its timing: pool_random SEED --round N.
//
// These rules keep the programs legal, so that every hang is a fault of the library:
//
//  * A task waits only for tasks that it has created, and for its own groups and pools. So each wait is for
//    something younger, and no circle can form. A driver may wait for anything.
//  * Only the first driver pauses pools. It waits for nothing until it has resumed them.
//  * Callables of fork-join wait only for their own calls. While a thread waits for a stolen call, it runs
//    no tasks of the pool.
//  * The thread that creates a pool destroys it, after all threads that use it have ended.
//  * A thread_local object of a worker posts to the worker's own pool. One of a driver posts to a pool of the
//    round.
//
// No operation depends on time, except the watchdog.
#include "random/world.hpp"

#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <string>
#include <thread>

namespace pool_random {

namespace {

struct choice {
    operation what;
    bool is_on = true;
};

std::vector<choice>& choices() {
    static std::vector<choice> all = [] {
        std::vector<choice> made;
        for (const auto of : {task_operations(), pool_operations(), fork_operations()}) {
            for (const operation& o : of) made.push_back({o});
        }
        return made;
    }();
    return all;
}

bool may_do(const context& who, const choice& c) {
    if (!c.is_on) return false;
    switch (c.what.by) {
    case operation::anybody:
        return true;
    case operation::first_driver:
        return !who.is_task() && who.driver == 0;
    default:
        return who.is_task() == (c.what.by == operation::tasks);
    }
}

const operation* choose(context& who) {
    unsigned sum = 0;
    for (const choice& c : choices()) sum += may_do(who, c) ? c.what.weight : 0;
    if (sum == 0) return nullptr;
    unsigned at = who.random.below(sum);
    for (const choice& c : choices()) {
        if (!may_do(who, c)) continue;
        if (at < c.what.weight) return &c.what;
        at -= c.what.weight;
    }
    return nullptr;
}

void run_round(std::uint64_t seed, std::uint64_t round) {
    set_replay(seed, round);
    generator random(seed + round * 0x632be59bd9b4e019U);
    std::vector<std::unique_ptr<pool_slot>> pools;
    for (unsigned i = random.below(3) + 1; i != 0; --i)
        pools.push_back(std::make_unique<pool_slot>(random, false));
    world all(pools, 0);
    std::vector<std::thread> drivers;
    const unsigned operations = 10 + random.below(40);
    for (unsigned d = 0, count = random.below(most_drivers) + 1; d != count; ++d) {
        drivers.emplace_back([&all, d, operations, own_seed = random.next()] {
            context who{all, generator(own_seed), d, nullptr, true, 0};
            act(who, operations);
        });
    }
    for (std::thread& d : drivers) d.join();
    all.close(random);
}

struct arguments {
    std::uint64_t seed = 0;
    std::uint64_t seconds = 3;
    std::uint64_t rounds = 0; // 0: as many as there is time for
    std::uint64_t first = 0;
    std::uint64_t patience = 60;
};

bool number(const char* text, std::uint64_t& value) {
    const char* const end = text + std::strlen(text);
    return std::from_chars(text, end, value).ptr == end && text != end;
}

/// Calls `use` for each name in a comma-separated list.
bool each_name(std::string_view names, bool (*use)(std::string_view)) {
    while (!names.empty()) {
        const std::size_t comma = std::min(names.find(','), names.size());
        if (!use(names.substr(0, comma))) return false;
        names.remove_prefix(std::min(comma + 1, names.size()));
    }
    return true;
}

bool parse(int argc, char** argv, arguments& chosen) {
    if (argc < 2) return false;
    if (std::strcmp(argv[1], "clock") == 0)
        chosen.seed = static_cast<std::uint64_t>(std::chrono::system_clock::now().time_since_epoch().count());
    else if (!number(argv[1], chosen.seed))
        return false;
    for (int i = 2; i + 1 < argc; i += 2) {
        const std::string_view name = argv[i];
        bool is_good = false;
        if (name == "--seconds") is_good = number(argv[i + 1], chosen.seconds);
        if (name == "--rounds") is_good = number(argv[i + 1], chosen.rounds);
        if (name == "--round") is_good = number(argv[i + 1], chosen.first), chosen.rounds = 1;
        if (name == "--patience") is_good = number(argv[i + 1], chosen.patience);
        if (name == "--without") is_good = each_name(argv[i + 1], &switch_off);
        if (name == "--only") is_good = each_name(argv[i + 1], &only);
        if (!is_good) return false;
    }
    return argc % 2 == 0;
}

} // namespace

bool switch_off(std::string_view name) {
    for (choice& c : choices()) {
        if (c.what.name != name) continue;
        c.is_on = false;
        return true;
    }
    return false;
}

bool only(std::string_view name) {
    static bool is_first = true;
    if (std::exchange(is_first, false)) {
        for (choice& c : choices()) c.is_on = false;
    }
    for (choice& c : choices()) {
        if (c.what.name != name) continue;
        c.is_on = true;
        return true;
    }
    return false;
}

void act(context& who, unsigned operations) {
    for (; operations != 0; --operations) {
        const operation* const next = choose(who);
        if (next == nullptr) break;
        const doing now(next->name);
        next->run(who);
    }
    const doing now("waits for what it has submitted");
    settle(who);
}

void task_body::operator()() const {
    const doing now("a task");
    // Fewer tasks at greater depth, so that a round ends.
    constexpr unsigned most_depth = 4;
    if (depth >= most_depth) return;
    context who{*in, generator(seed), driver, slot, is_at_home, depth};
    const unsigned operations = who.random.below(most_depth + 1 - depth);
    act(who, operations);
}

} // namespace pool_random

int main(int argc, char** argv) {
    using namespace pool_random;
    arguments chosen;
    if (!parse(argc, argv, chosen)) {
        std::fprintf(stderr, "usage: pool_random SEED|clock [--seconds N | --rounds N | --round NUMBER]"
                             " [--patience SECONDS] [--without NAME,...] [--only NAME,...]\noperations:");
        for (const choice& c : choices()) std::fprintf(stderr, " %s", c.what.name);
        std::fprintf(stderr, "\n");
        return 2;
    }
    std::printf("pool_random: seed %llu\n", static_cast<unsigned long long>(chosen.seed));
    std::fflush(stdout);
    start_watchdog(static_cast<unsigned>(chosen.patience));
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(chosen.seconds);
    std::uint64_t round = chosen.first;
    const auto is_over = [&] {
        if (chosen.rounds != 0) return round == chosen.first + chosen.rounds;
        return std::chrono::steady_clock::now() >= end;
    };
    for (; !is_over(); ++round) run_round(chosen.seed, round);
    std::printf("pool_random: %llu rounds, all accounts right\n",
                static_cast<unsigned long long>(round - chosen.first));
    return 0;
}
