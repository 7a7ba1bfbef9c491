/// Experiment mutex: threads that only lock a mutex, increment a number, and unlock it. spin-vs-mutex uses
/// this measurement, with work.
#pragma once

#include <lab/harness/busy.hpp>
#include <lab/harness/busy_neighbour.hpp>
#include <lab/harness/together.hpp>

#include <algorithm>
#include <numeric>

namespace lab::mutex {

/// One thread: the cost of a mutex that is always free. (A second thread exists, so that no library treats
/// the process as single-threaded.)
template <class Mutex>
void uncontended(cell& c) {
    const std::size_t rounds = c.pick(10'000, 2'000'000, 10'000'000);
    for (unsigned r = 0; r < c.asked().repetitions; ++r) {
        Mutex mutex;
        std::size_t count = 0;
        repetition found;
        found.used = together(c, 1, [&](unsigned) {
            std::size_t done = 0; // in a register: what is measured is the mutex
            for (std::size_t i = 0; i < rounds; ++i) {
                mutex.lock();
                asm volatile("" : "+r"(done)::"memory");
                ++done;
                mutex.unlock();
            }
            count = done;
        });
        if (count != rounds) c.fail("not every section ran");
        found.figures["ns_per_section"] = found.used.wall_s * 1e9 / static_cast<double>(rounds);
        found.figures["cpu_ns_per_section"] = found.used.cpu_s() * 1e9 / static_cast<double>(rounds);
        c.report(found);
    }
}

/// Many threads for a fixed time. Measures the number of sections, their fair share, and the longest wait.
/// Each thread works for `inside` turns with the mutex, and for `outside` turns without it.
template <class Mutex>
void contended(cell& c, unsigned threads, std::uint64_t inside = 0, std::uint64_t outside = 0) {
    const auto duration = std::chrono::milliseconds(c.pick(5, 200, 1000));
    for (unsigned r = 0; r < c.asked().repetitions; ++r) {
        Mutex mutex;
        std::size_t guarded = 0;
        std::atomic<bool> stop{false};
        std::vector<double> sections(threads);
        std::vector<std::uint64_t> longest(threads);
        repetition found;
        found.used = together(
            c, threads,
            [&](unsigned me) {
                std::size_t done = 0;
                std::uint64_t work = me;
                do { // at least one section, even if the thread starts late
                    // Reads the clock for one section in 16, because reading it takes longer than the
                    // section.
                    const std::uint64_t begin = done % 16 == 0 ? now_ns() : 0;
                    mutex.lock();
                    if (begin != 0) longest[me] = std::max(longest[me], now_ns() - begin);
                    ++guarded;
                    work = turn(inside, work);
                    mutex.unlock();
                    work = turn(outside, work);
                    ++done;
                } while (!stop.load(std::memory_order_relaxed));
                sections[me] = static_cast<double>(done);
            },
            [&] {
                std::this_thread::sleep_for(duration);
                stop.store(true, std::memory_order_relaxed);
            });
        const double sum = std::accumulate(sections.begin(), sections.end(), 0.0);
        const double squares = std::inner_product(sections.begin(), sections.end(), sections.begin(), 0.0);
        if (static_cast<double>(guarded) != sum) c.fail("two threads were in the section at once");
        found.figures["ns_per_section"] = found.used.wall_s * 1e9 / sum;
        found.figures["cpu_ns_per_section"] = found.used.cpu_s() * 1e9 / sum;
        found.figures["jain_index"] = squares > 0 ? sum * sum / (threads * squares) : 0;
        found.figures["longest_wait_ms"] =
            static_cast<double>(*std::max_element(longest.begin(), longest.end())) / 1e6;
        c.report(found);
    }
}

template <class Mutex>
void run(cell& c) {
    const busy_neighbours neighbours(c.asked().variant);
    const std::string& variant = neighbours.variant();
    if (variant == "free") return uncontended<Mutex>(c);
    contended<Mutex>(c, variant == "2 threads" ? 2 : variant == "8 threads" ? 8 : 64);
}

} // namespace lab::mutex
