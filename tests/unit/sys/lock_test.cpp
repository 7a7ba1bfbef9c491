#include <ekiden/sys/lock.hpp>

#include <tests/unit/signal_storm.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace sys = ekiden::sys;

namespace {

/// Threads increment plain numbers under the lock. Sometimes a thread sleeps briefly while it holds the lock,
/// so that the others sleep.
void contend(sys::slow_lock& lock, long& first, long& second, int rounds, bool in_storm) {
    std::vector<std::thread> threads;
    for (int t = 0; t != 4; ++t) {
        threads.emplace_back([&] {
            std::unique_ptr<ekiden_test::signal_storm> storm;
            if (in_storm) storm = std::make_unique<ekiden_test::signal_storm>();
            for (int i = 0; i != rounds; ++i) {
                std::lock_guard guard(lock);
                ++first;
                if (i % 256 == 0) std::this_thread::sleep_for(std::chrono::microseconds(100));
                ++second;
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
}

} // namespace

TEST_CASE("A slow lock excludes every other thread under contention") {
    sys::slow_lock lock;
    long first = 0;
    long second = 0;
    contend(lock, first, second, 5000, false);
    CHECK(first == 4 * 5000);
    CHECK(second == first);
}

TEST_CASE("A slow lock excludes every other thread in a storm of signals") {
    EKIDEN_SKIP_ON_WINDOWS("there are no signals");
    sys::slow_lock lock;
    long first = 0;
    long second = 0;
    contend(lock, first, second, 1000, true);
    CHECK(first == 4 * 1000);
    CHECK(second == first);
}

TEST_CASE("A slow lock may be destroyed by the thread that locked it last") {
    for (int i = 0; i != 300; ++i) {
        auto lock = std::make_unique<sys::slow_lock>();
        std::atomic<bool> locked{false};
        std::thread other([&, l = lock.get()] {
            l->lock();
            locked.store(true);
            std::this_thread::yield();
            l->unlock();
        });
        while (!locked.load()) std::this_thread::yield();
        lock->lock();
        lock->unlock();
        lock.reset();
        other.join();
    }
}
