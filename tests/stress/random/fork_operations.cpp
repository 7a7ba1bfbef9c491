// Structured work: groups, forked calls, loops, and blocking regions.
#include "world.hpp"

#include <chrono>
#include <numeric>
#include <thread>

namespace pool_random {

namespace {

using namespace std::chrono_literals;

/// Uses a group several times.
void group(context& who) {
    pool_slot& slot = who.any_pool();
    const bool stops_rest = who.random.chance(30);
    ekiden::task_group group(slot.pool(),
                             stops_rest ? ekiden::on_error::stop_rest : ekiden::on_error::run_all);
    for (unsigned turn = who.random.below(3) + 1; turn != 0; --turn) {
        std::vector<record*> members;
        std::atomic<unsigned> thrown{0};
        for (unsigned i = who.random.below(6); i != 0; --i) {
            const new_task made = make(who, slot, false);
            if (made.of == nullptr) break;
            members.push_back(made.of);
            const unsigned wish = who.random.below(12);
            group.spawn([mine = token(*made.of), body = made.body, wish, &group, &thrown]() mutable {
                (void)mine.begin();
                if (wish == 0) (void)group.request_stop();
                if (wish == 1 || wish == 2) group.spawn([] {});
                body();
                if (wish != 3) return;
                ++thrown;
                throw marked{3};
            });
        }
        bool is_stopped = who.random.chance(15) && group.request_stop();
        std::size_t reported = 0;
        try {
            // After a wait that gives up, the next wait gets everything.
            if (!who.random.chance(20) || !group.wait_for(50us)) group.wait();
        } catch (const marked&) {
            reported = 1 + ekiden::suppressed_exceptions().size();
            require(thrown != 0, "a group has thrown what no member has");
        } catch (const std::system_error& error) {
            require(error.code() == std::errc::operation_canceled && slot.ending, "a group has failed");
            is_stopped = true;
        }
        for (const record* r : members) {
            require(r->alive == 0, "task_group::wait came before a member's end", r->alive);
            require(r->runs <= 1, "a group's task ran twice", r->runs);
        }
        if (!is_stopped) require(reported >= thrown, "a group has lost exceptions", reported);
    }
}

/// An outside thread adds to a group while this thread waits for it.
void group_foreign(context& who) {
    pool_slot& slot = who.any_pool();
    std::atomic<int> ran{0};
    int added = 0;
    {
        ekiden::task_group group(slot.pool());
        std::thread other([&, seed = who.random.next()] {
            const doing now("adds to a group from outside");
            generator random(seed);
            for (unsigned i = random.below(30); i != 0; --i, ++added) group.spawn([&ran] { ++ran; });
        });
        for (unsigned i = who.random.below(30); i != 0; --i) {
            try {
                group.wait();
            } catch (const std::system_error&) {
                require(slot.ending, "a group has failed");
            }
        }
        other.join();
    }
    require(slot.ending || ran == added, "a group has lost tasks", ran, added);
}

void region(context& who) {
    const ekiden::blocking_region blocked("a test");
    if (who.random.chance(50)) std::this_thread::sleep_for(std::chrono::microseconds(who.random.below(300)));
    act(who, who.random.below(2));
}

// ---- fork-join. Its callables wait for nothing, see the rules in tests/stress/pool_random.cpp.

/// Returns the pool for a loop: one of the round, or null for no named pool.
ekiden::thread_pool* pool_for(context& who) {
    return who.random.chance(30) ? nullptr : &who.any_pool().pool();
}

unsigned fibonacci(ekiden::fork_scope& scope, unsigned n) {
    if (n < 2) return n;
    const auto [a, b] = ekiden::parallel_invoke(
        scope, [n](ekiden::fork_scope& s) { return fibonacci(s, n - 1); },
        [n](ekiden::fork_scope& s) { return fibonacci(s, n - 2); });
    return a + b;
}

void fork_invoke(context& who) {
    static constexpr std::array<unsigned, 20> known{0,  1,  1,   2,   3,   5,   8,   13,   21,   34,
                                                    55, 89, 144, 233, 377, 610, 987, 1597, 2584, 4181};
    const unsigned n = who.random.below(known.size());
    const bool left_throws = who.random.chance(10);
    const bool right_throws = who.random.chance(10);
    try {
        const auto [a, b] = ekiden::parallel_invoke(
            [n, left_throws](ekiden::fork_scope& s) {
                const unsigned got = fibonacci(s, n);
                if (left_throws) throw marked{1};
                return got;
            },
            [n, right_throws](ekiden::fork_scope& s) {
                const unsigned got = fibonacci(s, n);
                if (right_throws) throw marked{2};
                return got;
            });
        require(!left_throws && !right_throws, "parallel_invoke has lost an exception");
        require(a == known[n] && b == known[n], "parallel_invoke has another result", a, known[n]);
    } catch (const marked& thrown) {
        require(thrown.mark == 1 ? left_throws : right_throws, "parallel_invoke throws what nobody has");
    }
}

void fork_for(context& who) {
    const int n = static_cast<int>(who.random.below(3000));
    const int throws_at = who.random.chance(15) ? static_cast<int>(who.random.below(3000)) : -1;
    const int stops_at = who.random.chance(15) ? static_cast<int>(who.random.below(3000)) : -1;
    std::stop_source source;
    std::vector<std::atomic<int>> calls(static_cast<std::size_t>(n));
    const ekiden::loop_options options{.grain = who.random.chance(30) ? who.random.below(50) : 0,
                                       .stop = stops_at >= 0 ? source.get_token() : std::stop_token()};
    bool is_whole = false;
    try {
        const auto body = [&](int i) {
            require(calls[static_cast<std::size_t>(i)].fetch_add(1) == 0, "an iteration came twice", i);
            if (i == throws_at) throw marked{4};
            if (i == stops_at) source.request_stop();
        };
        ekiden::thread_pool* const pool = pool_for(who);
        is_whole = pool != nullptr ? ekiden::parallel_for(*pool, 0, n, body, options)
                                   : ekiden::parallel_for(0, n, body, options);
        require(throws_at < 0 || throws_at >= n || !is_whole, "parallel_for has lost an exception");
    } catch (const marked&) {
        require(throws_at >= 0 && throws_at < n, "parallel_for throws what nobody has");
        return;
    }
    require(is_whole || (stops_at >= 0 && stops_at < n), "parallel_for was stopped by nobody");
    if (!is_whole) return;
    for (const auto& c : calls) require(c == 1, "an iteration did not come", c, 1);
}

void fork_reduce(context& who) {
    const unsigned n = who.random.below(20'000);
    const ekiden::loop_options options{.deterministic = who.random.chance(50)};
    const auto value = [](unsigned i) { return std::uint64_t{i}; };
    ekiden::thread_pool* const pool = pool_for(who);
    const std::uint64_t sum =
        pool != nullptr
            ? ekiden::parallel_reduce(*pool, 0U, n, std::uint64_t{0}, value, std::plus<>(), options)
            : ekiden::parallel_reduce(0U, n, std::uint64_t{0}, value, std::plus<>(), options);
    require(n == 0 ? sum == 0 : sum == std::uint64_t{n} * (n - 1) / 2, "parallel_reduce has another sum",
            static_cast<long>(sum), n);
}

void fork_sort(context& who) {
    std::vector<std::uint64_t> values(who.random.below(20'000));
    for (std::uint64_t& v : values) v = who.random.next();
    const std::uint64_t before = std::accumulate(values.begin(), values.end(), std::uint64_t{0});
    ekiden::parallel_sort(values);
    require(std::is_sorted(values.begin(), values.end()), "parallel_sort has not sorted");
    require(std::accumulate(values.begin(), values.end(), std::uint64_t{0}) == before,
            "parallel_sort has lost values");
}

constexpr std::array of_forks{
    operation{"group", 6, operation::anybody, &group},
    operation{"group_foreign", 2, operation::drivers, &group_foreign},
    operation{"region", 5, operation::tasks, &region},
    operation{"fork_invoke", 4, operation::anybody, &fork_invoke},
    operation{"fork_for", 4, operation::anybody, &fork_for},
    operation{"fork_reduce", 3, operation::anybody, &fork_reduce},
    operation{"fork_sort", 1, operation::anybody, &fork_sort},
};

} // namespace

std::span<const operation> fork_operations() noexcept { return of_forks; }

} // namespace pool_random
