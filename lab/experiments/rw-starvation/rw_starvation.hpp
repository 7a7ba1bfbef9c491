/// Experiment rw-starvation: eight readers that come back at once, and one writer among them.
#pragma once

#include <lab/harness/together.hpp>

#include <algorithm>
#include <atomic>
#include <numeric>
#include <string>

namespace lab::rw_starvation {

template <class Lock>
void run(cell& c) {
    constexpr unsigned readers = 8;
    const bool waits = c.asked().variant != "empty";
    const bool seldom = c.asked().variant == "seldom";
    const auto duration = std::chrono::milliseconds(c.pick(5, 300, 1000));
    for (unsigned r = 0; r < c.asked().repetitions; ++r) {
        Lock lock;
        long first = 0;
        long second = 0; // equal to `first` outside of the writer's sections
        std::atomic<bool> torn{false};
        std::atomic<bool> stop{false};
        std::vector<double> reads(readers);
        double writes = 0;
        std::uint64_t longest = 0;
        std::uint64_t waited = 0;
        const auto read = [&](unsigned me) {
            double done = 0;
            for (; !stop.load(std::memory_order_relaxed); ++done) {
                lock.lock_shared();
                if (first != second) torn = true;
                if (waits) std::this_thread::yield();
                lock.unlock_shared();
            }
            reads[me] = done;
        };
        const auto write = [&] {
            for (; !stop.load(std::memory_order_relaxed); ++writes) {
                if (seldom) std::this_thread::sleep_for(std::chrono::microseconds(200));
                const std::uint64_t begin = now_ns();
                lock.lock();
                const std::uint64_t wait = now_ns() - begin;
                longest = std::max(longest, wait);
                waited += wait;
                ++first;
                if (waits) std::this_thread::yield();
                ++second;
                lock.unlock();
            }
        };
        repetition found;
        found.used = together(
            c, readers + 1,
            [&](unsigned me) {
                if (me < readers)
                    read(me);
                else
                    write();
            },
            [&] {
                std::this_thread::sleep_for(duration);
                stop.store(true, std::memory_order_relaxed);
            });
        if (torn || static_cast<double>(first) != writes || second != first)
            c.fail("the writer was not alone");
        found.figures["longest_wait_us"] = static_cast<double>(longest) / 1e3;
        if (writes > 0) found.figures["mean_wait_us"] = static_cast<double>(waited) / 1e3 / writes;
        found.figures["writes_per_ms"] = writes / (found.used.wall_s * 1e3);
        found.figures["reads_per_ms"] =
            std::accumulate(reads.begin(), reads.end(), 0.0) / (found.used.wall_s * 1e3);
        c.report(found);
    }
}

} // namespace lab::rw_starvation
