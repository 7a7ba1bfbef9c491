#include <ekiden/context/simulated.hpp>
#include <ekiden/sys/clock.hpp>

#include <doctest/doctest.h>

#include <chrono>
#include <cstdint>
#include <limits>
#include <ratio>

namespace sys = ekiden::sys;
using ekiden::deadline_here;
using ekiden::time_left_here;
using namespace std::chrono_literals;

namespace {

constexpr auto century = 24h * 365 * 100;

/// A clock that the test sets, with any representation.
template <class Duration>
struct shown {
    using duration = Duration;
    using rep = typename duration::rep;
    using period = typename duration::period;
    using time_point = std::chrono::time_point<shown>;
    static constexpr bool is_steady = false;

    static inline duration value{};
    static time_point now() noexcept { return time_point(value); }
};

using thirds = std::chrono::duration<std::int64_t, std::ratio<1, 3>>;
using frames = std::chrono::duration<std::int64_t, std::ratio<1001, 30000>>;
using seconds = std::chrono::duration<double>;
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();
constexpr double infinite = std::numeric_limits<double>::infinity();

template <class Duration>
void check_extremes() {
    const auto now = sys::clock::now();
    CHECK(now + sys::bounded(Duration::max()) > now + century);
    CHECK(now + sys::bounded(Duration::min()) < now - century);
}

} // namespace

TEST_CASE("A length of time is rounded up to the unit of the clock") {
    static_assert(sys::bounded(1ns) == 1ns);
    static_assert(sys::bounded(-1ns) == -1ns);
    static_assert(sys::bounded(2h) == 2h);
    static_assert(sys::bounded(std::chrono::duration<double, std::nano>(0.5)) == 1ns);
    static_assert(sys::bounded(std::chrono::duration<std::int64_t, std::pico>(1001)) == 2ns);
    static_assert(sys::bounded(std::chrono::duration<unsigned, std::milli>(3)) == 3ms);
    CHECK(sys::bounded(thirds(3)) == 1s);
    CHECK(sys::bounded(thirds(-3)) == -1s);
    CHECK(sys::bounded(thirds(1)) == 333'333'334ns);
    CHECK(sys::bounded(frames(30000)) == 1001s);
}

TEST_CASE("A length of time that the clock cannot count is cut and does not overflow") {
    check_extremes<sys::clock::duration>();
    check_extremes<std::chrono::seconds>();
    check_extremes<std::chrono::hours>();
    check_extremes<std::chrono::years>();
    check_extremes<thirds>();
    check_extremes<frames>();
    const auto now = sys::clock::now();
    CHECK(now + sys::bounded(std::chrono::duration<std::uint64_t>::max()) > now + century);
    CHECK(sys::bounded(std::chrono::duration<std::uint64_t>::min()) == 0s);
    CHECK(now + sys::bounded(sys::clock::time_point::max() - now) > now + century);
    for (const double most : {infinite, 1e300, std::numeric_limits<double>::max()}) {
        CHECK(now + sys::bounded(seconds(most)) > now + century);
        CHECK(now + sys::bounded(seconds(-most)) < now - century);
        CHECK(now + sys::bounded(std::chrono::duration<double, std::nano>(most)) > now + century);
        CHECK(now + sys::bounded(std::chrono::duration<double, std::ratio<3600>>(most)) > now + century);
    }
    CHECK(now + sys::bounded(std::chrono::duration<long double>(std::numeric_limits<long double>::max()))
          > now + century);
    CHECK(now + sys::bounded(seconds(not_a_number)) < now);
}

TEST_CASE("The time to a deadline is that of the deadline's clock") {
    using slow = shown<std::chrono::milliseconds>;
    slow::value = 5s;
    CHECK(time_left_here(slow::time_point(7s)) == 2s);
    CHECK(time_left_here(slow::time_point(4s)) == -1s);
    const auto before = sys::clock::now();
    const auto deadline = deadline_here(slow::time_point(65s));
    CHECK(deadline >= before + 60s);
    CHECK(deadline <= sys::clock::now() + 60s);
    CHECK(deadline_here(before) == before);
    const std::chrono::time_point<std::chrono::steady_clock, std::chrono::duration<double, std::nano>> half(
        std::chrono::duration<double, std::nano>(1.5));
    CHECK(deadline_here(half) == sys::clock::time_point(2ns));
}

TEST_CASE_TEMPLATE("A deadline at the end of a clock's range is far away and does not overflow", Duration,
                   std::chrono::nanoseconds, std::chrono::milliseconds, std::chrono::seconds,
                   std::chrono::hours, thirds, seconds) {
    using clock = shown<Duration>;
    const auto range = {
        Duration::min(), Duration(std::chrono::hours(-1'297'000)), Duration(-1),   Duration(0),
        Duration(1),     Duration(std::chrono::hours(1'297'000)),  Duration::max()};
    for (const Duration now : range) {
        clock::value = now;
        CHECK(time_left_here(typename clock::time_point(now)) == 0s);
        if (now < Duration(std::chrono::hours(0))) {
            CHECK(time_left_here(clock::time_point::max()) > century);
        } else {
            CHECK(time_left_here(clock::time_point::min()) < -century);
        }
        CHECK(time_left_here(clock::time_point::max()) >= 0s);
        CHECK(time_left_here(clock::time_point::min()) <= 0s);
    }
    // A clock whose epoch is far away, like file_clock, is not clamped.
    clock::value = std::chrono::duration_cast<Duration>(std::chrono::hours(-1'297'000));
    CHECK(time_left_here(clock::now() + std::chrono::duration_cast<Duration>(1h * 24))
          == std::chrono::hours(24));
}

TEST_CASE("Deadlines of the standard's clocks at the ends of their units") {
    using system = std::chrono::system_clock;
    using coarse = std::chrono::time_point<system, std::chrono::hours>;
    using broken = std::chrono::time_point<system, seconds>;
    CHECK(time_left_here(system::time_point::max()) > century);
    CHECK(time_left_here(system::time_point::min()) < -century);
    CHECK(time_left_here(coarse::max()) > century);
    CHECK(time_left_here(coarse::min()) < -century);
    CHECK(time_left_here(broken(seconds(1e300))) > century);
    CHECK(time_left_here(broken(seconds(not_a_number))) < 0s);
    using own = std::chrono::time_point<sys::clock, std::chrono::hours>;
    CHECK(deadline_here(sys::clock::time_point::max()) > sys::clock::now() + century);
    CHECK(deadline_here(sys::clock::time_point::min()) < sys::clock::now());
    CHECK(deadline_here(own::max()) > sys::clock::now() + century);
    CHECK(deadline_here(own::min()) < sys::clock::now());
}
