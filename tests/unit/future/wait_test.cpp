#include <ekiden/future/promise.hpp>

#include <tests/unit/signal_storm.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <limits>
#include <ratio>
#include <thread>

using ekiden::promise;
using namespace std::chrono_literals;

namespace {

/// A clock of the user's, which the test sets.
struct set_clock {
    using rep = std::int64_t;
    using period = std::milli;
    using duration = std::chrono::duration<rep, period>;
    using time_point = std::chrono::time_point<set_clock>;
    [[maybe_unused]] static constexpr bool is_steady = false;

    static inline std::atomic<rep> ahead{0}; // of the steady clock

    static inline int calls_until_set_back = 0; // 0: never

    static time_point now() {
        if (calls_until_set_back != 0 && --calls_until_set_back == 0) ahead -= 30;
        const auto real = std::chrono::steady_clock::now().time_since_epoch();
        return time_point(std::chrono::duration_cast<duration>(real) + duration(ahead.load()));
    }
};

} // namespace

TEST_CASE("A timed wait without a result takes the time it was given and no less") {
    promise<int> source;
    const auto result = source.get_future();
    const auto check = [&](auto wait, std::chrono::nanoseconds least) {
        const auto start = std::chrono::steady_clock::now();
        CHECK_FALSE(wait());
        CHECK(std::chrono::steady_clock::now() - start >= least);
    };
    check([&] { return result.wait_for(10ms); }, 10ms);
    check([&] { return result.wait_for(std::chrono::duration<double, std::milli>(2.5)); }, 2500us);
    check([&] { return result.wait_for(std::chrono::duration<int, std::pico>(1500)); }, 2ns);
    check([&] { return result.wait_until(std::chrono::steady_clock::now() + 10ms); }, 10ms);
    check([&] { return result.wait_until(std::chrono::system_clock::now() + 10ms); }, 9ms);
    check([&] { return result.wait_until(set_clock::now() + 10ms); }, 9ms);
}

TEST_CASE("A timed wait whose time has passed only looks") {
    promise<int> source;
    const auto result = source.get_future();
    CHECK_FALSE(result.wait_for(0s));
    CHECK_FALSE(result.wait_for(-1h));
    CHECK_FALSE(result.wait_for(std::chrono::hours::min()));
    CHECK_FALSE(result.wait_until(std::chrono::steady_clock::time_point::min()));
    CHECK_FALSE(result.wait_until(std::chrono::steady_clock::time_point{}));
    CHECK_FALSE(result.wait_until(std::chrono::system_clock::time_point::min()));
    CHECK_FALSE(result.wait_until(set_clock::time_point::min()));
    source.set_value(1);
    CHECK(result.wait_for(0s));
    CHECK(result.wait_for(-1h));
    CHECK(result.wait_until(std::chrono::steady_clock::time_point::min()));
    CHECK(result.wait_until(set_clock::time_point::min()));
}

TEST_CASE("A wait for no time is short enough to poll with") {
    promise<int> source;
    const auto result = source.get_future();
    auto shortest = std::chrono::steady_clock::duration::max();
    for (int i = 0; i != 200; ++i) {
        const auto start = std::chrono::steady_clock::now();
        CHECK_FALSE(result.wait_for(0s));
        shortest = std::min(shortest, std::chrono::steady_clock::now() - start);
    }
    CHECK(shortest < 15us); // less than the waiting spins
}

TEST_CASE("The longest times are waited for and do not overflow") {
    const auto waits = [](auto wait) {
        promise<int> source;
        const auto result = source.get_future();
        std::thread producer([&] {
            std::this_thread::sleep_for(2ms);
            source.set_value(1);
        });
        CHECK(wait(result));
        producer.join();
    };
    waits([](const auto& result) { return result.wait_for(std::chrono::nanoseconds::max()); });
    waits([](const auto& result) { return result.wait_for(std::chrono::hours::max()); });
    waits([](const auto& result) {
        return result.wait_for(std::chrono::duration<double>(std::numeric_limits<double>::infinity()));
    });
    waits([](const auto& result) { return result.wait_until(std::chrono::steady_clock::time_point::max()); });
    waits([](const auto& result) { return result.wait_until(std::chrono::system_clock::time_point::max()); });
    waits([](const auto& result) { return result.wait_until(set_clock::time_point::max()); });
    using coarse = std::chrono::time_point<std::chrono::steady_clock, std::chrono::hours>;
    waits([](const auto& result) { return result.wait_until(coarse::max()); });
}

TEST_CASE("A wait until a time of the user's clock looks at that clock again when it was set back") {
    promise<int> source;
    const auto result = source.get_future();
    set_clock::ahead = 0;
    const auto deadline = set_clock::now() + 100ms; // has not passed yet when the wait looks first
    set_clock::calls_until_set_back = 3;            // when the wait has found out how long to sleep
    CHECK_FALSE(result.wait_until(deadline));
    CHECK(set_clock::calls_until_set_back == 0);
    CHECK(set_clock::now() >= deadline);
}

TEST_CASE("A wait until a time of the user's clock ends when the result comes however the clock jumps") {
    promise<int> source;
    const auto result = source.get_future();
    const auto deadline = set_clock::now() + 5ms;
    std::thread setter([&] {
        for (int i = 0; i != 20; ++i) {
            set_clock::ahead -= 10;
            std::this_thread::sleep_for(1ms);
        }
        source.set_value(1);
    });
    const bool came = result.wait_until(deadline);
    // On a slow machine the clock may catch up with the jumps; then the wait may have ended without a result.
    CHECK((came || set_clock::now() + 200ms >= deadline));
    if (came) CHECK(result.is_ready());
    setter.join();
}

TEST_CASE("A storm of signals neither ends a wait nor shortens a timed one") {
    EKIDEN_SKIP_ON_WINDOWS("there are no signals");
    promise<int> source;
    auto result = source.get_future();
    ekiden_test::signal_storm storm;
    while (storm.sent() == 0) std::this_thread::yield();
    const auto start = std::chrono::steady_clock::now();
    CHECK_FALSE(result.wait_for(20ms));
    CHECK(std::chrono::steady_clock::now() - start >= 20ms);
    std::thread producer([&] {
        std::this_thread::sleep_for(20ms);
        source.set_value(7);
    });
    CHECK(result.get() == 7);
    producer.join();
}

TEST_CASE("A result that comes at the deadline is either seen or still there for get") {
    for (int round = 0; round != 300; ++round) {
        promise<int> source;
        auto result = source.get_future();
        const auto deadline = std::chrono::steady_clock::now() + 150us;
        std::thread producer([&] {
            while (std::chrono::steady_clock::now() < deadline) {
            }
            source.set_value(round);
        });
        if (result.wait_until(deadline))
            CHECK(result.is_ready());
        else
            CHECK(std::chrono::steady_clock::now() >= deadline);
        CHECK(result.get() == round);
        producer.join();
    }
}

namespace {

/// A clock of the user's in any unit, the last of whose times cannot be told in nanoseconds.
template <class Rep, class Period>
struct odd_clock {
    using rep = Rep;
    using period = Period;
    using duration = std::chrono::duration<rep, period>;
    using time_point = std::chrono::time_point<odd_clock>;
    static constexpr bool is_steady = true;
    static time_point now() {
        return time_point(
            std::chrono::duration_cast<duration>(std::chrono::steady_clock::now().time_since_epoch()));
    }
};

/// Waits that last for ever end when the result comes, and those of the past at once.
template <class TimePoint>
void check_corners(TimePoint always, TimePoint never) {
    promise<int> source;
    const auto result = source.get_future();
    CHECK_FALSE(result.wait_until(never));
    std::atomic<bool> waits = false;
    std::thread producer([&] {
        while (!waits) std::this_thread::yield();
        std::this_thread::sleep_for(1ms); // so that a wait that gives up at once is found out
        source.set_value(1);
    });
    waits = true;
    CHECK(result.wait_until(always));
    producer.join();
    CHECK(result.wait_until(never));
}
template <class Clock, class Duration>
void check_corners_of() {
    using time_point = std::chrono::time_point<Clock, Duration>;
    check_corners(time_point::max(), time_point::min());
}
template <class Duration>
void check_corners_of_duration(Duration always, Duration never) {
    promise<int> source;
    const auto result = source.get_future();
    CHECK_FALSE(result.wait_for(never));
    std::atomic<bool> waits = false;
    std::thread producer([&] {
        while (!waits) std::this_thread::yield();
        std::this_thread::sleep_for(1ms);
        source.set_value(1);
    });
    waits = true;
    CHECK(result.wait_for(always));
    producer.join();
}

} // namespace

TEST_CASE("A deadline beyond all time is waited for and one before all time has passed, of each clock") {
    using namespace std::chrono;
    check_corners_of<steady_clock, steady_clock::duration>();
    check_corners_of<steady_clock, seconds>();
    check_corners_of<steady_clock, hours>();
    check_corners_of<steady_clock, duration<double>>();
    check_corners_of<system_clock, system_clock::duration>();
    check_corners_of<system_clock, microseconds>();
    check_corners_of<system_clock, seconds>();
    check_corners_of<system_clock, hours>();
    check_corners_of<system_clock, duration<double>>();
    check_corners_of<system_clock, duration<long double, std::atto>>();
    check_corners_of<odd_clock<std::int64_t, std::ratio<3600>>, hours>();
    check_corners_of<odd_clock<double, std::nano>, duration<double, std::nano>>();
    check_corners_of<odd_clock<std::int64_t, std::ratio<1, 3>>, duration<std::int64_t, std::ratio<1, 3>>>();
    check_corners_of<set_clock, set_clock::duration>();
    using far = time_point<system_clock, duration<double>>;
    check_corners(far(duration<double>(1e300)), far(duration<double>(-1e300)));
}

TEST_CASE("A time beyond all time is waited for and one below zero is none, of each unit") {
    using namespace std::chrono;
    check_corners_of_duration(nanoseconds::max(), nanoseconds::min());
    check_corners_of_duration(seconds::max(), seconds::min());
    check_corners_of_duration(hours::max(), hours::min());
    check_corners_of_duration(duration<double>(1e300), duration<double>(-1e300));
    check_corners_of_duration(duration<double>::max(), duration<double>::min());
    check_corners_of_duration(duration<std::uint64_t, std::ratio<1, 7>>::max(),
                              duration<std::uint64_t, std::ratio<1, 7>>::min());
}
