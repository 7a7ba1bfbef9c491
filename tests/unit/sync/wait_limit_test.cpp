#include <ekiden/sync/event.hpp>
#include <ekiden/sync/mutex.hpp>
#include <ekiden/sync/wait_limit.hpp>

#include <tests/unit/asleep.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <limits>
#include <thread>

using namespace std::chrono_literals;
using ekiden::wait_limit;

namespace {

/// Runs at a third of the speed of the library's clock, and can be set.
struct slow_clock {
    using duration = std::chrono::microseconds;
    using rep = duration::rep;
    using period = duration::period;
    using time_point = std::chrono::time_point<slow_clock>;
    [[maybe_unused]] static constexpr bool is_steady = false;

    static inline const ekiden::sys::clock::time_point start = ekiden::sys::clock::now();
    static time_point now() noexcept {
        return time_point(std::chrono::duration_cast<duration>(ekiden::sys::clock::now() - start) / 3);
    }
};

/// Shows what it was set to.
struct still_clock {
    using duration = std::chrono::microseconds;
    using rep = duration::rep;
    using period = duration::period;
    using time_point = std::chrono::time_point<still_clock>;
    [[maybe_unused]] static constexpr bool is_steady = false;

    static inline std::atomic<std::int64_t> us{0};
    static time_point now() noexcept { return time_point(duration(us.load())); }
};

template <class Duration>
using system_time = std::chrono::time_point<std::chrono::system_clock, Duration>;
template <class Duration>
using own_time = std::chrono::time_point<ekiden::sys::clock, Duration>;
using seconds = std::chrono::duration<double>;

bool is_far(const wait_limit& limit) {
    return !limit.is_reached() && limit.deadline() > ekiden::sys::clock::now() + 24h * 365 * 50;
}

template <class Time>
void check_ends() {
    CHECK(is_far(wait_limit::until(Time::max())));
    CHECK(wait_limit::until(Time::min()).is_reached());
}

} // namespace

TEST_CASE("a limit at the end of what its unit can count is far away, or reached, whatever the clock") {
    check_ends<own_time<std::chrono::nanoseconds>>();
    check_ends<own_time<std::chrono::seconds>>();
    check_ends<own_time<std::chrono::hours>>();
    check_ends<own_time<seconds>>();
    check_ends<system_time<std::chrono::nanoseconds>>();
    check_ends<system_time<std::chrono::microseconds>>();
    check_ends<system_time<std::chrono::hours>>();
    check_ends<system_time<seconds>>();
    check_ends<slow_clock::time_point>();
    for (const double far : {1e300, std::numeric_limits<double>::infinity()}) {
        CHECK(is_far(wait_limit::after(seconds(far))));
        CHECK(wait_limit::after(seconds(-far)).is_reached());
        CHECK(is_far(wait_limit::until(own_time<seconds>(seconds(far)))));
        CHECK(wait_limit::until(own_time<seconds>(seconds(-far))).is_reached());
        CHECK(is_far(wait_limit::until(system_time<seconds>(seconds(far)))));
        CHECK(wait_limit::until(system_time<seconds>(seconds(-far))).is_reached());
    }
    const seconds no_number(std::numeric_limits<double>::quiet_NaN());
    CHECK(wait_limit::after(no_number).is_reached());
    CHECK(wait_limit::until(own_time<seconds>(no_number)).is_reached());
    CHECK(wait_limit::until(system_time<seconds>(no_number)).is_reached());
    CHECK(is_far(wait_limit::after(std::chrono::hours::max())));
    CHECK(wait_limit::after(std::chrono::hours::min()).is_reached());
    CHECK(is_far(wait_limit::after(std::chrono::nanoseconds::max())));
    CHECK(is_far(wait_limit::after(std::chrono::duration<std::uint64_t>::max())));
    CHECK(is_far(wait_limit::after(ekiden::sys::clock::time_point::max() - ekiden::sys::clock::now())));
}

TEST_CASE("a lock waits until the end of time, and gets what comes before it") {
    ekiden::mutex m;
    m.lock();
    const auto waiting = [&](auto lock) {
        return ekiden_test::start_asleep([&m, lock] {
            CHECK(lock(m));
            m.unlock();
        });
    };
    std::thread hours =
        waiting([](auto& l) { return l.try_lock_until(system_time<std::chrono::hours>::max()); });
    std::thread own =
        waiting([](auto& l) { return l.try_lock_until(own_time<std::chrono::seconds>::max()); });
    std::thread duration = waiting([](auto& l) { return l.try_lock_for(std::chrono::hours::max()); });
    m.unlock();
    hours.join();
    own.join();
    duration.join();
}

TEST_CASE("a deadline of a clock that runs at a third of the speed is that clock's") {
    ekiden::event never;
    const auto deadline = slow_clock::now() + 10ms;
    CHECK_FALSE(never.wait(wait_limit::until(deadline)));
    CHECK(slow_clock::now() >= deadline);
}

TEST_CASE("a deadline of a clock that stands still, or is set back, comes later") {
    ekiden::event event;
    std::atomic<bool> waits{true};
    const auto deadline = still_clock::now() + 20ms;
    std::thread waiting = ekiden_test::start_asleep([&] {
        CHECK(event.wait(wait_limit::until(deadline)));
        waits = false;
    });
    for (const auto set : {0us, -std::chrono::microseconds(1h)}) {
        still_clock::us = set.count();
        // Long after the time that the waiting thread has expected.
        const auto later = ekiden::sys::clock::now() + 50ms;
        while (ekiden::sys::clock::now() < later) std::this_thread::sleep_for(1ms);
        CHECK(waits);
    }
    event.set();
    waiting.join();
}

TEST_CASE("a deadline of a clock that is set has come when that clock says so") {
    ekiden::event never;
    const auto deadline = still_clock::now() + 20ms;
    std::thread waiting =
        ekiden_test::start_asleep([&] { CHECK_FALSE(never.wait(wait_limit::until(deadline))); });
    still_clock::us = std::chrono::microseconds(1h).count();
    waiting.join();
}
