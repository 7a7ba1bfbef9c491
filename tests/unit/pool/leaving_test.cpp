// An idle worker leaves the only task of a deque to its owner for a short time, and does not search for ever
// afterwards.
#include <ekiden/pool/thread_pool.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <thread>

using ekiden::priority;
using ekiden::thread_pool;

namespace {

void spin_until(const std::atomic<bool>& flag) {
    while (!flag) {
    }
}

void run_for(std::chrono::microseconds length) {
    const auto end = std::chrono::steady_clock::now() + length;
    while (std::chrono::steady_clock::now() < end) {
    }
}

/// Calls `close_and_wait`, which waits for a task. The worker of this task usually leaves another task to its
/// owner when it begins the task. The task ends after the other worker has fallen asleep.
template <class Close>
void last_task_ends_after(Close close_and_wait) {
    thread_pool pool({.threads = 2});
    std::atomic<bool> is_awake{false};
    std::atomic<bool> last_runs{false};
    std::atomic<bool> left_has_run{false};
    std::atomic<bool> is_alone{false};
    std::atomic<bool> is_closing{false};
    pool.post([&] {
        pool.post(priority::high, [&] { is_awake = true; });
        spin_until(is_awake); // the other worker has run the task, and searches now
        run_for(std::chrono::microseconds(5));
        pool.post([&] { left_has_run = true; });
        pool.post(priority::high, [&] {
            last_runs = true;
            spin_until(left_has_run);
            is_alone = true;
            spin_until(is_closing);
            std::this_thread::sleep_for(std::chrono::microseconds(200));
        });
        spin_until(last_runs);
    });
    while (!is_alone) std::this_thread::sleep_for(std::chrono::microseconds(50));
    close_and_wait(pool, is_closing);
}

} // namespace

TEST_CASE("wait_idle() of a paused pool returns although a worker has left a task to another one") {
    for (int round = 0; round != 25; ++round) {
        last_task_ends_after([](thread_pool& pool, std::atomic<bool>& is_closing) {
            pool.pause();
            is_closing = true;
            pool.wait_idle();
            pool.resume();
        });
    }
}

TEST_CASE("join() returns although a worker has left a task to another one") {
    for (int round = 0; round != 25; ++round) {
        last_task_ends_after([](thread_pool& pool, std::atomic<bool>& is_closing) {
            is_closing = true;
            pool.join();
        });
    }
}
