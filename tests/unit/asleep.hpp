/// Starts threads that wait by the time a test goes on.
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

/// A thread that runs `body`; returned when it sleeps there, however long its start takes. To be seen twice a
/// millisecond apart without having run counts as asleep: less could be a lock of a sanitizer. A body that
/// ends instead fails the test: it must wait for something that the test does after this.
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
