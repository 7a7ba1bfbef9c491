/// Experiment granularity: how long a task must be so that a system can keep all cores busy with such tasks.
///
/// Efficiency = serial time / (wall time x cores). The serial time is that of the same work in a loop,
/// measured in the same process. The sum of the tasks' results is compared with the serial sum.
#pragma once

#include <lab/harness/busy.hpp>
#include <lab/harness/cell.hpp>
#include <lab/harness/completion.hpp>
#include <lab/harness/task_system.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <vector>

namespace lab::granularity {

struct length {
    const char* figure;
    double us;
};

inline constexpr std::array lengths{length{"0.1", 0.1}, length{"0.3", 0.3}, length{"1", 1.0},
                                    length{"3", 3.0},   length{"10", 10},   length{"30", 30},
                                    length{"100", 100}, length{"300", 300}, length{"1000", 1000}};

/// The result of one task. It depends on the task's number, so that the sum shows whether all tasks ran.
inline std::uint64_t work(std::uint64_t turns, std::uint64_t number) { return turn(turns, number) | 1U; }

/// Returns the efficiency for `tasks` tasks of `turns` steps.
template <class System>
double efficiency(const cell& c, System& system, std::size_t tasks, std::uint64_t turns, unsigned cores) {
    const usage serial_begin = usage_now();
    std::uint64_t expected = 0;
    for (std::size_t i = 0; i < tasks; ++i) expected += work(turns, i);
    const double serial_s = (usage_now() - serial_begin).wall_s;

    completion done;
    done.expect(tasks);
    // A result slot for each task would cost memory traffic that the serial loop does not have. So the sum is
    // kept in a few cache lines.
    struct alignas(128) part {
        std::atomic<std::uint64_t> sum{0};
    };
    std::array<part, 8> parts;
    const usage begin = usage_now();
    enter(system, [&] {
        auto producer = make_producer(system);
        for (std::size_t i = 0; i < tasks; ++i)
            producer.post([&parts, &done, turns = static_cast<std::uint32_t>(turns),
                           number = static_cast<std::uint32_t>(i)] {
                parts[number % 8].sum.fetch_add(work(turns, number), std::memory_order_relaxed);
                done.hit();
            });
    });
    done.wait(c);
    const double wall_s = (usage_now() - begin).wall_s;
    done.check(c);
    std::uint64_t sum = 0;
    for (const part& p : parts) sum += p.sum.load();
    if (sum != expected)
        c.fail("the tasks' results add up to " + std::to_string(sum) + ", not " + std::to_string(expected));
    return serial_s / (wall_s * cores);
}

template <class System>
void run(cell& c) {
    const double serial_us = static_cast<double>(c.pick(2'000, 25'000, 200'000));
    const std::size_t most = c.pick(500, 400'000, 2'000'000) / slowness<System>();
    const unsigned cores = std::min(c.workers(), static_cast<unsigned>(usable_cpus().size()));
    System system(c.workers());
    efficiency(c, system, most / 10 + 8, 10, cores); // warms up
    for (unsigned r = 0; c.again(r); ++r) {
        repetition found;
        found.used = c.measure([&] {
            for (const length& l : lengths) {
                const double fit = std::clamp(serial_us / l.us, 4.0 * cores, static_cast<double>(most));
                const auto turns = static_cast<std::uint64_t>(std::lround(l.us * c.asked().turns_per_us));
                found.figures[l.figure] = efficiency(c, system, static_cast<std::size_t>(fit),
                                                     std::max<std::uint64_t>(turns, 1), cores);
            }
        });
        c.report(found);
    }
}

} // namespace lab::granularity
