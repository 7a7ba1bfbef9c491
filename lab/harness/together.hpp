/// Threads that start at the same moment, for the workloads of the locks' experiments.
///
/// Used by: the experiments on locks.
#pragma once

#include <lab/harness/cell.hpp>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

namespace lab {

/// Starts `size` threads. They run body(index) once all of them exist. The usage is measured from then until
/// all have ended. `meanwhile` runs in the calling thread within the measured time.
template <class Body, class Meanwhile>
usage together(cell& c, unsigned size, Body body, Meanwhile meanwhile) {
    std::mutex mutex;
    std::condition_variable changed;
    unsigned ready = 0;
    bool go = false;
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < size; ++i) {
        threads.emplace_back([&, i] {
            {
                std::unique_lock lock(mutex);
                if (++ready == size) changed.notify_all();
                changed.wait(lock, [&] { return go; });
            }
            body(i);
        });
    }
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return ready == size; });
    return c.measure([&] {
        go = true;
        lock.unlock();
        changed.notify_all();
        meanwhile();
        for (auto& thread : threads) thread.join();
    });
}

template <class Body>
usage together(cell& c, unsigned size, Body body) {
    return together(c, size, std::move(body), [] {});
}

} // namespace lab
