/// Experiment short-loops: parallel loops of 10 us to 1 ms, one after the other or with a pause before each.
#pragma once

#include <lab/harness/busy.hpp>
#include <lab/harness/cell.hpp>
#include <lab/harness/statistics.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace lab::short_loops {

/// The meaning of a variant's name: "20 x 0.5 us" or "20 x 0.5 us, pauses".
struct setting {
    std::size_t iterations = 0;
    double us = 0;
    bool has_pauses = false;
};

inline setting parse(const std::string& variant) {
    setting s;
    std::istringstream in(variant);
    std::string sign;
    in >> s.iterations >> sign >> s.us;
    s.has_pauses = variant.ends_with("pauses");
    return s;
}

/// One repetition: loops for about 200 ms. The figures are medians over the loops.
template <class System>
repetition once(cell& c, const setting& s, System& system) {
    constexpr std::chrono::microseconds pause(200);
    const double loop_us = static_cast<double>(s.iterations) * s.us;
    const std::size_t loops = c.asked().scale == scale::smoke
                                  ? 5
                                  : static_cast<std::size_t>(200'000 / (loop_us + (s.has_pauses ? 260 : 0)));
    const auto turns = static_cast<std::uint64_t>(s.us * c.asked().turns_per_us);
    std::vector<std::atomic<std::uint32_t>> done(s.iterations);
    std::vector<double> took_us;
    took_us.reserve(loops);
    repetition found;
    found.used = c.measure([&] {
        for (std::size_t k = 0; k < loops; ++k) {
            if (s.has_pauses) std::this_thread::sleep_for(pause);
            const std::uint64_t begin = now_ns();
            system.loop(s.iterations, [&done, turns](std::size_t i) {
                static_cast<void>(turn(turns, i));
                done[i].fetch_add(1, std::memory_order_relaxed);
            });
            took_us.push_back(static_cast<double>(now_ns() - begin) / 1e3);
        }
    });
    for (const auto& count : done)
        if (count.load() != loops) c.fail("an iteration is missing or was made twice");
    std::sort(took_us.begin(), took_us.end());
    found.figures = {{"us", quantile(took_us, 0.5)},
                     {"p90_us", quantile(took_us, 0.9)},
                     {"cpu_us", found.used.cpu_s() * 1e6 / static_cast<double>(loops)}};
    return found;
}

/// The caller is one of the threads. If a library has its own pool, all of this runs in a task of the pool.
template <class System>
void run(cell& c) {
    System system(c.workers());
    const setting s = parse(c.asked().variant);
    const auto all = [&] {
        static_cast<void>(once(c, s, system));
        for (unsigned r = 0; c.again(r); ++r) c.report(once(c, s, system));
    };
    if constexpr (requires { system.enter(all); })
        system.enter(all);
    else
        all();
}

} // namespace lab::short_loops
