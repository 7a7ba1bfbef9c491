/// Experiment spin-vs-mutex: varies how long a mutex is held, and how many threads need it.
#pragma once

#include <lab/experiments/mutex/mutex.hpp>

#include <string>

namespace lab::spin_vs_mutex {

/// How often each thread locks the mutex. With `little`, it works nine times as long without the mutex as
/// with it.
struct contention {
    const char* name;
    const char* title;
    unsigned threads;
    unsigned outside; // as a multiple of the time inside
};
inline constexpr contention contentions[] = {{"little", "2 threads, a tenth of their time", 2, 9},
                                             {"heavy", "2 threads, all their time", 2, 0},
                                             {"crowded", "8 threads, all their time", 8, 0}};

struct hold {
    const char* name;
    double us;
};
inline constexpr hold holds[] = {{"100 ns", 0.1}, {"1 us", 1}, {"10 us", 10}, {"100 us", 100}};

template <class Mutex>
void run(cell& c) {
    for (const hold& h : holds) {
        for (const contention& how : contentions) {
            if (c.asked().variant != std::string(h.name) + ", " + how.name) continue;
            const auto turns = static_cast<std::uint64_t>(h.us * c.asked().turns_per_us);
            return mutex::contended<Mutex>(c, how.threads, turns, turns * how.outside);
        }
    }
}

} // namespace lab::spin_vs_mutex
