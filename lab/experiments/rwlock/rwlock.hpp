/// Experiment rwlock: the source's five settings of readers and writers.
#pragma once

#include <lab/harness/together.hpp>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <string>

namespace lab::rwlock {

/// The number of threads and of their repetitions, as in the source.
struct setting {
    const char* name;
    unsigned readers, reads, writers, writes;
};
inline constexpr setting settings_of_source[] = {{"1:1", 20, 10'000, 20, 10'000},
                                                 {"10:1", 200, 1'000, 20, 10'000},
                                                 {"100:1", 2'000, 100, 20, 10'000},
                                                 {"250:1", 2'000, 100, 8, 2'500},
                                                 {"2000:1", 2'000, 100, 1, 2'000}};

inline void report(cell& c, repetition& found, double times) {
    found.figures["elapsed_ms"] = found.used.wall_s * 1e3 * times;
    found.figures["user_ms"] = found.used.user_s * 1e3 * times;
    found.figures["system_ms"] = found.used.system_s * 1e3 * times;
    c.report(found);
}

/// One thread: the cost of a lock that is always free.
template <class Lock>
void uncontended(cell& c, bool reads) {
    const std::size_t rounds = c.pick(10'000, 1'000'000, 10'000'000);
    for (unsigned r = 0; r < c.asked().repetitions; ++r) {
        Lock lock;
        std::size_t count = 0;
        repetition found;
        found.used = together(c, 1, [&](unsigned) {
            for (; count < rounds; ++count) {
                reads ? lock.lock_shared() : lock.lock();
                asm volatile("" ::: "memory");
                reads ? lock.unlock_shared() : lock.unlock();
            }
        });
        report(c, found, 1e6 / static_cast<double>(rounds));
    }
}

template <class Lock>
void run(cell& c) {
    const std::string& variant = c.asked().variant;
    if (variant.starts_with("free")) return uncontended<Lock>(c, variant == "free, reading");
    const bool waits = variant.ends_with(" waiting");
    const auto found_setting = std::find_if(std::begin(settings_of_source), std::end(settings_of_source),
                                            [&](const setting& s) { return variant.starts_with(s.name); });
    const setting& s = *found_setting;
    // The quick scale has a tenth of the source's repetitions, but all of its threads.
    const auto scaled = [&](unsigned n) {
        return std::max(1U, n / static_cast<unsigned>(c.pick(1000, 10, 1)));
    };
    // A smoke run has all of the source's threads in one variant only, because starting them takes most of
    // its time.
    const bool fewer = c.asked().scale == scale::smoke && variant != "2000:1 waiting";
    const unsigned readers = fewer ? std::min(s.readers, 200U) : s.readers;
    for (unsigned r = 0; r < c.asked().repetitions; ++r) {
        Lock lock;
        std::int64_t first = 0;
        std::int64_t second = 0; // equals `first` outside the writers' sections
        std::atomic<bool> torn{false};
        repetition found;
        found.used = together(c, readers + s.writers, [&](unsigned me) {
            const bool reads = me < readers;
            for (unsigned i = scaled(reads ? s.reads : s.writes); i > 0; --i) {
                if (reads) {
                    lock.lock_shared();
                    if (first != second) torn = true;
                    if (waits) std::this_thread::yield();
                    lock.unlock_shared();
                } else {
                    lock.lock();
                    ++first;
                    if (waits) std::this_thread::yield();
                    ++second;
                    lock.unlock();
                }
            }
        });
        if (torn || first != std::int64_t{scaled(s.writes)} * s.writers || second != first)
            c.fail("a writer was not alone");
        report(c, found, 1);
    }
}

} // namespace lab::rwlock
