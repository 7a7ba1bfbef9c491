/// Experiment lock-order: many threads request one lock while it is held. Do they get it in the order of
/// their requests?
#pragma once

#include <lab/harness/cell.hpp>
#include <lab/harness/usage.hpp>

#include <algorithm>
#include <chrono>
#include <thread>
#include <vector>

namespace lab::lock_order {

template <class Lock>
void run(cell& c) {
    const std::size_t threads = c.pick(50, 5'000, 5'000);
    const auto hold = std::chrono::milliseconds(c.pick(20, 1'000, 3'000));
    for (unsigned r = 0; r < c.asked().repetitions; ++r) {
        Lock lock;
        std::vector<std::uint64_t> asked; // in the order of getting in: when each asked, guarded by the lock
        asked.reserve(threads);
        std::vector<std::thread> started;
        repetition found;
        found.used = c.measure([&] {
            for (std::size_t i = 0; i < threads; ++i) {
                started.emplace_back([&] {
                    const std::uint64_t now = now_ns();
                    lock.lock();
                    asked.push_back(now);
                    if (asked.size() == 1) std::this_thread::sleep_for(hold);
                    lock.unlock();
                });
            }
            for (auto& thread : started) thread.join();
        });
        if (asked.size() != threads) c.fail("a thread did not get in, or two were in at once");
        double inversions = 0;
        std::uint64_t largest = 0;
        std::uint64_t latest = 0;
        for (const std::uint64_t when : asked) {
            if (when < latest) {
                ++inversions;
                largest = std::max(largest, latest - when);
            }
            latest = std::max(latest, when);
        }
        found.figures["inversions"] = inversions;
        found.figures["largest_inversion_ns"] = static_cast<double>(largest);
        found.figures["release_ms"] = (found.used.wall_s - std::chrono::duration<double>(hold).count()) * 1e3;
        c.report(found);
    }
}

} // namespace lab::lock_order
