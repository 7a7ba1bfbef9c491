/// What the stress tests of the locks share: threads that start together, and small random delays.
#pragma once

#include <ekiden/sys/random.hpp>

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

namespace stress {

/// Sometimes lets another thread run, sometimes wastes a little time.
class noise {
public:
    explicit noise(std::uint64_t seed) : random_(seed + 1) {}

    void operator()() {
        const std::uint32_t what = random_.below(16);
        if (what == 0) std::this_thread::yield();
        if (what > 12) {
            for (std::uint32_t i = random_.below(200); i > 0; --i) asm volatile("");
        }
    }
    std::uint32_t below(std::uint32_t bound) { return random_.below(bound); }

private:
    ekiden::sys::random random_;
};

/// Runs body(index, noise) in `count` threads that start together; returns when all have ended.
template <class Body>
void together(int count, Body body) {
    std::atomic<int> ready{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < count; ++i) {
        threads.emplace_back([&, i] {
            noise n(static_cast<std::uint64_t>(i) * 7919);
            ready.fetch_add(1);
            while (ready.load() < count) std::this_thread::yield();
            body(i, n);
        });
    }
    for (auto& t : threads) t.join();
}

} // namespace stress
