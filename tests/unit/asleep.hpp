/// Starts threads that are already waiting when the test continues.
#pragma once

#include <ekiden/sys/thread_probe.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <doctest/doctest.h>
#include <memory>
#include <thread>
#include <utility>

namespace ekiden_test {

/// Starts a thread that runs `body`. Returns when the thread sleeps in `body`, however long its start takes.
/// A thread counts as asleep if two checks, a millisecond apart, find that it has not run. A shorter sleep
/// could be a lock of a sanitizer. On Windows, only a sleep in a wait of the library counts. The test fails
/// if `body` returns instead. So `body` must wait for something that the test does later.
template <class F>
std::thread start_asleep(F body) {
    struct progress {
        std::atomic<bool> has_begun{false};
        std::atomic<bool> has_ended{false};
        ekiden::sys::thread_probe thread;
    };
    const auto probe = std::make_shared<progress>();
    std::thread started([probe, body = std::move(body)]() mutable {
        probe->thread = ekiden::sys::thread_probe::of_this_thread();
        probe->has_begun.store(true, std::memory_order_release);
        body();
        probe->has_ended = true;
    });
    while (!probe->has_begun.load(std::memory_order_acquire)) std::this_thread::yield();
    for (bool is_asleep = false;;) {
        const std::uint64_t before_ns = probe->thread.cpu_ns();
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        const bool was_asleep = std::exchange(is_asleep, probe->thread.is_asleep());
        if (was_asleep && is_asleep && probe->thread.cpu_ns() == before_ns) return started;
        if (probe->has_ended) {
            ADD_FAIL_AT(__FILE__, __LINE__, "the thread has ended instead of sleeping");
            return started;
        }
    }
}

} // namespace ekiden_test
