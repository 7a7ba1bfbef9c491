#include <ekiden/sys/futex.hpp>

#include <tests/unit/asleep.hpp>

#include <doctest/doctest.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <new>
#if !defined(_WIN32)
#include <sys/mman.h>
#include <unistd.h>
#endif
#if defined(__linux__)
#include <sys/prctl.h>
#endif
#include <thread>
#include <vector>

namespace sys = ekiden::sys;
using namespace std::chrono_literals;

TEST_CASE("A futex wait returns at once when the word holds another value") {
    sys::atomic<std::uint32_t> word{7};
    sys::futex_wait(word, 8);
    CHECK(sys::futex_wait_until(word, 8, sys::clock::now() + 1h));
}

TEST_CASE("A futex wait for another value takes no wake-up from a sleeper") {
    sys::atomic<std::uint32_t> word{0};
    sys::atomic<bool> is_over{false};
    std::thread other([&] {
        while (!is_over.load(sys::relaxed))
            if (!sys::futex_wait_until(word, 7, sys::clock::now() + 1h)) return;
    });
    bool is_lost = false;
    for (int round = 0; round != 20 && !is_lost; ++round) {
        word.store(0, sys::release);
        sys::atomic<bool> is_awake{false};
        std::thread sleeper = ekiden_test::start_asleep([&] {
            while (word.load(sys::acquire) == 0) sys::futex_wait(word, 0);
            is_awake.store(true, sys::release);
        });
        word.store(1, sys::release);
        sys::futex_wake(word);
        const auto end = sys::clock::now() + 20s;
        while (!is_awake.load(sys::acquire) && sys::clock::now() < end) std::this_thread::yield();
        is_lost = !is_awake.load(sys::acquire);
        sys::futex_wake_all(word);
        sleeper.join();
    }
    is_over.store(true, sys::relaxed);
    other.join();
    CHECK_FALSE(is_lost);
}

TEST_CASE("A futex wait ends at its deadline and not before it") {
    sys::atomic<std::uint32_t> word{0};
    const auto deadline = sys::clock::now() + 20ms;
    while (sys::futex_wait_until(word, 0, deadline)) {
    }
    CHECK(sys::clock::now() >= deadline);
}

#if defined(__linux__)
TEST_CASE("A futex wait ends no earlier in a thread with a large timer slack") {
    sys::atomic<std::uint32_t> word{0};
    std::thread([&] { // in a new thread, because each thread has its own slack
        CHECK(::prctl(PR_SET_TIMERSLACK, 40'000'000UL) == 0);
        for (const auto limit : {1ms, 20ms, 60ms}) {
            const auto deadline = sys::clock::now() + limit;
            while (sys::futex_wait_until(word, 0, deadline)) {
            }
            CHECK(sys::clock::now() >= deadline);
        }
    })
        .join();
}
#endif

TEST_CASE("A futex wait does not sleep when its deadline has passed") {
    sys::atomic<std::uint32_t> word{0};
    const auto past = {sys::clock::now(), sys::clock::now() - 1h, sys::clock::time_point{},
                       sys::clock::time_point{} - 1ns, sys::clock::time_point::min()};
    for (const auto deadline : past) CHECK_FALSE(sys::futex_wait_until(word, 0, deadline));
}

TEST_CASE("A futex wait with the furthest deadline sleeps until it is woken") {
    sys::atomic<std::uint32_t> word{0};
    bool in_time = false;
    std::thread waiter = ekiden_test::start_asleep([&] {
        while (word.load(sys::acquire) == 0) {
            in_time = sys::futex_wait_until(word, 0, sys::clock::time_point::max());
        }
    });
    word.store(1, sys::release);
    sys::futex_wake_all(word);
    waiter.join();
    CHECK(in_time);
}

#if !defined(_WIN32)
TEST_CASE("A futex wake wakes as many sleepers as it is told and says how many") {
    constexpr int sleepers = 4;
    sys::atomic<std::uint32_t> word{0};
    sys::atomic<int> awake{0};
    CHECK(sys::futex_wake(word) == 0);
    std::vector<std::thread> threads;
    for (int i = 0; i != sleepers; ++i) {
        threads.push_back(ekiden_test::start_asleep([&] {
            while (word.load(sys::acquire) == 0) sys::futex_wait(word, 0);
            awake.fetch_add(1, sys::release);
        }));
    }
    word.store(1, sys::release);
    // A signal, such as a profiler's, may have woken one thread before.
    const int first = sys::futex_wake(word);
    CHECK(first <= 1);
    const int rest = sys::futex_wake_all(word);
    CHECK(first + rest <= sleepers);
    for (std::thread& thread : threads) thread.join();
    CHECK(awake.load(sys::acquire) == sleepers);
}
#endif

#if !defined(_WIN32)
TEST_CASE("A futex wake needs the address of a word and not the word") {
    const auto size = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)); // 16 KiB on some systems
    void* const page = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(page != MAP_FAILED);
    auto* const word = ::new (page) sys::atomic<std::uint32_t>{0};
    REQUIRE(::munmap(page, size) == 0);
    CHECK(sys::futex_wake(*word) == 0);
    CHECK(sys::futex_wake_all(*word) == 0);
}
#endif
