/// Experiment latency: the time from submitting a task to having its result.
///
/// Variants: "awake" submits the next task as soon as the last one is done. "after 10 ms idle" sleeps before
/// each, so that every thread of the system is asleep. Its first repetition also measures the processor time
/// of an idle system over 2 s.
#pragma once

#include <lab/harness/cell.hpp>
#include <lab/harness/statistics.hpp>
#include <lab/harness/task_system.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <string>
#include <thread>
#include <vector>

namespace lab::latency {

/// The bins of the histogram: 16 for each factor of ten, from 10 ns to 100 ms. The first and the last one
/// also contain everything beyond.
inline constexpr int bins_per_decade = 16;
inline constexpr int first_decade = 1;
inline constexpr int last_decade = 8;
inline constexpr int bins = (last_decade - first_decade) * bins_per_decade;

inline std::vector<double> histogram(const std::vector<double>& ns) {
    std::vector<double> counts(bins, 0.0);
    for (const double value : ns) {
        const double place = (std::log10(std::max(value, 1.0)) - first_decade) * bins_per_decade;
        ++counts[static_cast<std::size_t>(std::clamp(place, 0.0, bins - 1.0))];
    }
    return counts;
}

/// Submits and waits, `samples` times. Returns the times in ns. Checks each result.
template <class System>
std::vector<double> sample(const cell& c, System& system, std::size_t samples,
                           std::chrono::milliseconds pause) {
    std::vector<double> ns;
    ns.reserve(samples);
    for (std::size_t i = 0; i < samples; ++i) {
        if (pause.count() > 0) std::this_thread::sleep_for(pause);
        const std::uint64_t begin = now_ns();
        const std::size_t result = system.call([i] { return i + 1; });
        const std::uint64_t end = now_ns();
        if (result != i + 1)
            c.fail("task " + std::to_string(i) + " returned " + std::to_string(result) + ", not "
                   + std::to_string(i + 1));
        ns.push_back(static_cast<double>(end - begin));
    }
    return ns;
}

inline void describe(repetition& found, std::vector<double> ns) {
    double sum = 0;
    for (const double value : ns) sum += value;
    found.series["histogram"] = histogram(ns);
    std::sort(ns.begin(), ns.end());
    found.figures["mean"] = sum / static_cast<double>(ns.size());
    found.figures["p50"] = quantile(ns, 0.5);
    found.figures["p99"] = quantile(ns, 0.99);
    found.figures["tail"] = found.figures["p99"] / found.figures["p50"];
    found.figures["p999"] = quantile(ns, 0.999);
}

/// Returns the CPU milliseconds that the process uses while it has nothing to do.
inline double idle_cpu_ms(const cell& c) {
    const std::chrono::milliseconds window(c.pick(50, 2'000, 2'000));
    const usage begin = usage_now();
    std::this_thread::sleep_for(window);
    return (usage_now() - begin).cpu_s() * 1e3 * 2'000 / static_cast<double>(window.count());
}

template <class System>
void run(cell& c) {
    const bool idle = c.asked().variant != "awake";
    const std::chrono::milliseconds pause(idle ? 10 : 0);
    const std::size_t samples =
        idle ? c.pick(5, 40, 200)
             : c.pick(500, 20'000, 100'000) / std::min<std::size_t>(slowness<System>(), 8);
    System system(c.workers());
    enter(system, [&] {
        sample(c, system, std::max<std::size_t>(samples / 4, 2), std::chrono::milliseconds(0));
        for (unsigned r = 0; idle ? r < c.asked().repetitions : c.again(r); ++r) {
            repetition found;
            std::vector<double> ns;
            found.used = c.measure([&] { ns = sample(c, system, samples, pause); });
            describe(found, std::move(ns));
            if (idle && c.asked().round == 0 && r == 0) found.figures["idle_cpu_ms"] = idle_cpu_ms(c);
            c.report(found);
        }
    });
}

} // namespace lab::latency
